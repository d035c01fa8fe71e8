import { computed, type MaybeRefOrGetter, toValue } from "vue";
import {
  type AgentChatActions,
  type AgentChatOptions,
  type Api,
  type ChatState,
  chatActions,
  createChat,
  type FunctionRef,
  kept,
} from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

export type AgentChat<Run extends FunctionRef> = Fields<ChatState> & AgentChatActions<Run>;

/**
 * A whole chat on a thread: its messages, what is being written, and what can be done. To follow
 * a thread that changes, give a getter: `() => ({ threadKey: props.id, run: api.chat.startRun })`.
 */
export function useAgentChat<Run extends FunctionRef>(
  _api: Api,
  options: MaybeRefOrGetter<AgentChatOptions<Run>>,
): AgentChat<Run> {
  const client = useClient();
  const of = kept(({ threadKey, stream }: Pick<AgentChatOptions, "threadKey" | "stream">) =>
    createChat(client, threadKey, { stream }),
  );
  const chat = computed(() => {
    const { threadKey, stream } = toValue(options);
    return of({ threadKey, stream });
  });
  return {
    ...useFields(() => chat.value.state),
    ...chatActions(
      () => chat.value,
      () => toValue(options),
    ),
  };
}

import { createMemo } from "solid-js";
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
import { useClient } from "./context.js";
import { access, createFields, type MaybeAccessor } from "./readable.js";

export type AgentChat<Run extends FunctionRef> = ChatState & AgentChatActions<Run>;

/**
 * A whole chat on a thread: its messages, what is being written, and what can be done. To follow
 * a thread that changes, give an accessor: `() => ({ threadKey: props.id, run: api.chat.startRun })`.
 */
export function createAgentChat<Run extends FunctionRef>(
  _api: Api,
  options: MaybeAccessor<AgentChatOptions<Run>>,
): AgentChat<Run> {
  const client = useClient();
  const of = kept(({ threadKey, stream }: Pick<AgentChatOptions, "threadKey" | "stream">) =>
    createChat(client, threadKey, { stream }),
  );
  const chat = createMemo(() => {
    const { threadKey, stream } = access(options);
    return of({ threadKey, stream });
  });
  const actions = chatActions(chat, () => access(options));
  return createFields(() => chat().state, actions);
}

import { computed, type MaybeRefOrGetter, toValue } from "vue";
import {
  type AgentActions,
  type AgentOptions,
  type AgentState,
  type Api,
  agentActions,
  createChat,
  type FunctionRef,
  kept,
} from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

export type Agent<Run extends FunctionRef> = Fields<AgentState> & AgentActions<Run>;

/** Run an agent on a thread and watch its status, without the messages. */
export function useAgent<Run extends FunctionRef>(
  _api: Api,
  options: MaybeRefOrGetter<AgentOptions<Run>>,
): Agent<Run> {
  const client = useClient();
  const of = kept((threadKey: string) => createChat(client, threadKey));
  const chat = computed(() => of(toValue(options).threadKey));
  return {
    ...useFields(() => chat.value.agent),
    ...agentActions(
      () => chat.value,
      () => toValue(options),
    ),
  };
}

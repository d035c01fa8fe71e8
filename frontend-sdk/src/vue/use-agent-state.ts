import { type MaybeRefOrGetter, toValue } from "vue";
import { type AgentStateOptions, type AgentStateView, kept } from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

/** The synced state of a thread, live; `T` is what the agent's author says it is. */
export function useAgentState<T = unknown>(
  options: MaybeRefOrGetter<AgentStateOptions>,
): Fields<AgentStateView<T>> {
  const client = useClient();
  const of = kept((threadKey: string) => client.agentState<T>(threadKey));
  return useFields(() => of(toValue(options).threadKey));
}

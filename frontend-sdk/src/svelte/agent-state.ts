import { type AgentStateOptions, type AgentStateView, kept } from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type MaybeGetter, read, type Shown } from "./readable.js";

/** The synced state of a thread, live; `T` is what the agent's author says it is. */
export function agentState<T = unknown>(
  options: MaybeGetter<AgentStateOptions>,
): AgentStateView<T> & Shown<AgentStateView<T>> {
  const client = getClient();
  const of = kept((threadKey: string) => client.agentState<T>(threadKey));
  return fromFields(() => of(read(options).threadKey));
}

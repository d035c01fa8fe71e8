import { type AgentStateOptions, type AgentStateView, kept } from "../core/index.js";
import { useClient } from "./context.js";
import { access, createFields, type MaybeAccessor } from "./readable.js";

/** The synced state of a thread, live; `T` is what the agent's author says it is. */
export function createAgentState<T = unknown>(
  options: MaybeAccessor<AgentStateOptions>,
): AgentStateView<T> {
  const client = useClient();
  const of = kept((threadKey: string) => client.agentState<T>(threadKey));
  return createFields(() => of(access(options).threadKey));
}

import { useMemo } from "react";
import type { AgentStateOptions, AgentStateView } from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

/** The synced state of a thread, live; `T` is what the agent's author says it is. */
export function useAgentState<T = unknown>({ threadKey }: AgentStateOptions): AgentStateView<T> {
  const client = useClient();
  return useReadable(useMemo(() => client.agentState<T>(threadKey), [client, threadKey]));
}

/** Hooks for React 18 and later. Wiring only: what they show is computed in the core. */

export { type ProviderProps, RopewalkProvider, useClient } from "./provider.js";
export { useAction } from "./use-action.js";
export { type Agent, useAgent } from "./use-agent.js";
export { type AgentChat, useAgentChat } from "./use-agent-chat.js";
export { useAgentState } from "./use-agent-state.js";
export { type UseApprovals, useApprovals } from "./use-approvals.js";
export { useConnection } from "./use-connection.js";
export { useMutation } from "./use-mutation.js";
// A subscription is the wire's word, a query the author's.
export { useQuery, useQuery as useSubscription } from "./use-query.js";
export { useReadable } from "./use-readable.js";
export { useSuspenseQuery } from "./use-suspense-query.js";

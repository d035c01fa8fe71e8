/** Composables for Vue 3.4 and later. Wiring only: what they show is computed in the core. */

export { provideClient, ropewalk, useClient } from "./client.js";
export { type Fields, useFields, useReadable } from "./readable.js";
export { useAction } from "./use-action.js";
export { type Agent, useAgent } from "./use-agent.js";
export { type AgentChat, useAgentChat } from "./use-agent-chat.js";
export { useAgentState } from "./use-agent-state.js";
export { type UseApprovals, useApprovals } from "./use-approvals.js";
export { useConnection } from "./use-connection.js";
export { type Mutate, useMutation } from "./use-mutation.js";
// A subscription is the wire's word, a query the author's.
export { useQuery, useQuery as useSubscription } from "./use-query.js";

/** Primitives for Solid 1.8 and later. Wiring only: what they show is computed in the core. */

export { type ProviderProps, RopewalkProvider, useClient } from "./context.js";
export { createAction } from "./create-action.js";
export { type Agent, createAgent } from "./create-agent.js";
export { type AgentChat, createAgentChat } from "./create-agent-chat.js";
export { createAgentState } from "./create-agent-state.js";
export { type CreateApprovals, createApprovals } from "./create-approvals.js";
export { createConnection } from "./create-connection.js";
export { createMutation, type Mutate } from "./create-mutation.js";
// A subscription is the wire's word, a query the author's.
export { createQuery, createQuery as createSubscription } from "./create-query.js";
export { createSuspenseQuery } from "./create-suspense-query.js";
export { createReadable, type MaybeAccessor } from "./readable.js";

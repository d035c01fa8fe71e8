/** Stores for Svelte 5.7 and later, for runes as well. Wiring only: what they show is computed in the core. */

export { action } from "./action.js";
export { type Agent, agent } from "./agent.js";
export { type AgentChat, agentChat } from "./agent-chat.js";
export { agentState } from "./agent-state.js";
export { type AgentApprovals, approvals } from "./approvals.js";
export { connection } from "./connection.js";
export { getClient, setClient } from "./context.js";
export { type Mutate, mutation } from "./mutation.js";
// A subscription is the wire's word, a query the author's.
export { query, query as subscription } from "./query.js";
export { fromReadable, type MaybeGetter, type Shown } from "./readable.js";

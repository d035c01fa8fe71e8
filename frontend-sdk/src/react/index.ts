/** Hooks for React 18 and later. Wiring only: what they show is computed in the core. */

export { type ProviderProps, RopewalkProvider, useClient } from "./provider.js";
export { type Agent, type AgentOptions, useAgent } from "./use-agent.js";
export { type AgentChat, type AgentChatOptions, useAgentChat } from "./use-agent-chat.js";
export { type AgentStateOptions, useAgentState } from "./use-agent-state.js";
export { useConnection } from "./use-connection.js";
export { useReadable } from "./use-readable.js";
export { useSubscription } from "./use-subscription.js";

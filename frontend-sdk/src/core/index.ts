/** The only door to the core, for adapters and for users. */

export * from "../http/index.js";
export * from "./agent-types.js";
export { answered } from "./answered.js";
export {
  type ActionRef,
  type Api,
  type ArgsOf,
  type Arguments,
  action,
  agents,
  defineApi,
  type FunctionRef,
  type MutationRef,
  mutation,
  type QueryRef,
  query,
  type ResultOf,
  ref,
} from "./api.js";
export {
  type AgentApprovalsOptions,
  type ApprovalActions,
  type Approvals,
  type ApprovalsOptions,
  type ApprovalsState,
  approvalActions,
  createApprovals,
  type Decidable,
  type Verdict,
} from "./approvals.js";
export type { Alternatives } from "./branches.js";
export type { Caller, CallState } from "./caller.js";
export { canonicalId } from "./canonical.js";
export { type Chat, createChat, type ForkOptions, type SendCalls } from "./chat.js";
export {
  type AgentActions,
  type AgentChatActions,
  type AgentChatOptions,
  type AgentOptions,
  type AgentStateOptions,
  agentActions,
  chatActions,
  type RunArgs,
} from "./chat-actions.js";
export type {
  AgentState,
  ChatError,
  ChatState,
} from "./chat-state.js";
export { type AgentStateView, ChatClient, createClient, type Foundation } from "./client.js";
export type { TokenSource } from "./connection.js";
export type { ConnectionState } from "./connection-state.js";
export { type Entries, type Entry, type EntryCall, type EntryPart, entriesOf } from "./entries.js";
export type { Environment, Socket, SocketConstructor } from "./environment.js";
export { type ClientErrorCode, RopewalkError } from "./errors.js";
export { kept } from "./kept.js";
export type { LocalStore } from "./layers.js";
export type { LivePart, LiveTurn } from "./live-text.js";
export { type ChatMessage, type ChatStatus, isBusy, liveKey, messageKey } from "./optimistic.js";
export type { CallOptions, ClientOptions, MutateOptions, MutationOptions } from "./options.js";
export type * from "./protocol.gen.js";
export { type SocketSharing, sharedTabs } from "./shared-tabs.js";
export { type ClientSnapshot, type PreloadOptions, preload } from "./snapshot.js";
export type { Readable } from "./store.js";
export type { SubscriptionView } from "./subscription.js";
export type { TabPlatform } from "./tab-membership.js";

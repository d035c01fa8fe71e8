// Generated from app/protocol by `python -m app.protocol.export`. Do not edit.

export const PROTOCOL_VERSION = 1;
export const SUBPROTOCOL = "ropewalk.v1";
export const PAGE_LIMIT = 50;
export const AGENT_MESSAGES = "agents:agentMessages";
export const AGENT_THREAD = "agents:agentThread";
export const AGENT_STATE = "agents:agentState";
export const AGENT_RUN = "agents:agentRun";
export const AGENT_CANCEL = "agents:agentCancel";
export const AGENT_RETRY = "agents:agentRetry";
export const AGENT_APPROVALS = "agents:agentApprovals";
export const AGENT_RESOLVE_APPROVAL = "agents:agentResolveApproval";
export const AGENT_RESOLVE_APPROVALS = "agents:agentResolveApprovals";
export const AGENT_REGENERATE = "agents:agentRegenerate";
export const AGENT_EDIT_MESSAGE = "agents:agentEditMessage";
export const AGENT_SELECT_BRANCH = "agents:agentSelectBranch";
export const AGENT_FORK = "agents:agentFork";
export const CLOSE_PROTOCOL = 4400;
export const CLOSE_UNAUTHENTICATED = 4401;
export const MAX_FRAME = 1048576;
export const MAX_CALLS = 64;

export type ErrorCode =
  | "UNAUTHENTICATED"
  | "FORBIDDEN"
  | "NOT_FOUND"
  | "CONFLICT"
  | "INVALID_ARGUMENT"
  | "RATE_LIMITED"
  | "PAYLOAD_TOO_LARGE"
  | "UNAVAILABLE"
  | "INTERNAL";

export type TokenKind = "text" | "thinking" | "tool_args";

export type MessageRole = "user" | "assistant" | "tool" | "system";

export type MessageStatus = "open" | "complete" | "interrupted" | "failed";

export type ThreadStatus =
  | "queued"
  | "running"
  | "awaiting_input"
  | "completed"
  | "failed"
  | "cancelled";

export type RunStatus =
  | "pending"
  | "queued"
  | "running"
  | "awaiting_input"
  | "waiting"
  | "completed"
  | "failed"
  | "cancelled";

export type WaitingKind = "run" | "signal";

export type ApprovalDecision = "approved" | "denied";

export type ApprovalStatus = "pending" | "approved" | "denied" | "cancelled";

export type DecisionPlace = "api" | "cli" | "dashboard" | "slack" | "teams" | "system";

export type Surface = "api" | "cli" | "dashboard";

/** What waits for the caller, or is his to see; with `all` also what was decided. */
export interface AgentApprovalsArgs {
  readonly key?: string;
  readonly status?: "pending" | "all";
  readonly limit?: number;
}

/** The run in the new branch, which is selected now, and the branch's key. */
export interface AgentBranchResult {
  readonly id: string;
  readonly key: string;
}

/** Cancels the run that the caller means; without one, the live run. */
export interface AgentCancelArgs {
  readonly key: string;
  readonly runId?: string;
}

/** Whether this call ended a run: a finished or another run is left alone. */
export interface AgentCancelResult {
  readonly cancelled: boolean;
}

/** Asks something else instead, in a branch.  The message has to have begun a run. */
export interface AgentEditMessageArgs {
  /** of any thread of the conversation */
  readonly key: string;
  readonly messageId: string;
  readonly input: string;
}

/** Begins a conversation of the caller's own with copies: up to a message, else all. */
export interface AgentForkArgs {
  readonly key: string;
  readonly messageId?: string;
  /** whether that message is copied, too: after, unless said otherwise */
  readonly edge?: "after" | "before";
  readonly title?: string;
}

/** The key of the new conversation. */
export interface AgentForkResult {
  readonly key: string;
}

/** The newest messages of a thread; with `before`, the page that ends below that seq. */
export interface AgentMessagesArgs {
  readonly key: string;
  readonly limit?: number;
  /** for calls: a subscription has no pages */
  readonly before?: number;
  /** whether token frames come */
  readonly stream?: boolean;
}

/** Answers again, in a branch: the run of this message, else the last one that is shown. */
export interface AgentRegenerateArgs {
  /** of any thread of the conversation */
  readonly key: string;
  readonly messageId?: string;
  readonly model?: string;
}

/** Decides the tool call that waits; a decided one answers CONFLICT and says by whom. */
export interface AgentResolveApprovalArgs {
  readonly toolCallId: string;
  readonly decision: ApprovalDecision;
  readonly reason?: string;
  readonly editedInput?: Readonly<Record<string, unknown>>;
  readonly inputHash?: string;
  readonly key: string;
  readonly via?: Surface;
}

/** The approval and the decision that now stands. */
export interface AgentResolveApprovalResult {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly decidedBy: string | null;
}

/** Decides several calls of a thread: all of them, or none. */
export interface AgentResolveApprovalsArgs {
  readonly key: string;
  readonly decisions: readonly NewDecision[];
  readonly via?: Surface;
}

/** Lets a failed run go on from where it failed; without one, the thread's newest. */
export interface AgentRetryArgs {
  readonly key: string;
  readonly runId?: string;
}

/** Whether there was such a run.  One that did not fail answers CONFLICT. */
export interface AgentRetryResult {
  readonly retried: boolean;
}

/** Starts a run on a new thread (no `key`) or the next one of an old thread. */
export interface AgentRunArgs {
  readonly agent: string;
  readonly key?: string;
  readonly input: string;
  readonly title?: string;
  readonly mode?: string;
  readonly model?: string;
  /** a JSON Schema with type object: the form of the answer */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly goal?: string;
  readonly attachments?: readonly Readonly<Record<string, unknown>>[];
}

/**
 * The run that reads the input, and the key of its thread.
 *
 * On a busy thread the agent's policy decides: `steered` says that it is the running run,
 * `position` that it is a new one, which waits for that many places.
 */
export interface AgentRunResult {
  readonly id: string;
  readonly key: string;
  readonly steered?: boolean;
  readonly position?: number;
}

/** Shows another thread of a conversation, in every tab. */
export interface AgentSelectBranchArgs {
  /** of any thread of the conversation */
  readonly key: string;
  /** of the thread to show; the root's key is one, too */
  readonly branch: string;
}

/** The synced state of a thread: any JSON, `null` while there is none. */
export interface AgentStateArgs {
  readonly key: string;
}

/** The thread itself. */
export interface AgentThreadArgs {
  readonly key: string;
}

/** An approval as inbox and history show it. */
export interface ApprovalRecord {
  readonly id: string;
  /** the conversation that asks: this one, or that of a child run */
  readonly key: string;
  readonly agent: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
  /** names the arguments, for the decision on them */
  readonly inputHash: string;
  /** whether the decider may change the arguments */
  readonly editable: boolean;
  /** who may decide, if not whoever usually does */
  readonly approvers: readonly string[];
  readonly requestedAt: string;
  readonly expiresAt?: string;
  /** what counts as decided then */
  readonly onExpiry?: ApprovalDecision;
  readonly owner: string | null;
  /** of the conversation that asks */
  readonly title: string | null;
  /** the root's key, when a branch asks */
  readonly conversation?: string;
  readonly status: ApprovalStatus;
  /** whether it waits, and for the caller */
  readonly mayDecide: boolean;
  readonly decidedBy?: string;
  readonly place?: DecisionPlace;
  readonly reason?: string;
  readonly editedInput?: Readonly<Record<string, unknown>>;
  readonly decidedAt?: string;
}

/** Refreshes the identity of a live socket; its subscriptions are checked again. */
export interface Auth {
  readonly type: "auth";
  readonly token: string;
}

/** The threads of a conversation, the root first, then oldest first. */
export interface BranchList {
  /** the key of the one that every tab shows */
  readonly selected: string;
  readonly list: readonly BranchView[];
}

/**
 * A thread of a conversation: the root, which was first, or a branch of it.
 *
 * The first `shared` messages of a branch are copies of those of `parent`.
 */
export interface BranchView {
  readonly key: string;
  /** null: this is the root */
  readonly parent: string | null;
  readonly shared: number;
  readonly createdAt: string;
}

/** Calls a function; `result` or `error` with the same id answers. */
export interface Call {
  readonly type: "call";
  readonly id: string;
  readonly fn: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** a call repeated under this key takes effect once */
  readonly dedupe?: string;
}

/** A value of the application's own, under the application's own name. */
export interface DataPart {
  readonly type: "data";
  readonly name: string;
  readonly value: unknown;
}

/**
 * Changed rows of one list query, from one cursor to the next.
 *
 * Applies if `from <= mine < cursor`, is ignored if `cursor <= mine`; a client
 * behind `from` has missed something and resubscribes with its own cursor.
 */
export interface Delta {
  readonly type: "delta";
  readonly id: string;
  readonly from: string;
  readonly cursor: string;
  readonly ops: readonly RowOp[];
}

/**
 * What went wrong with a call, a subscription (by `id`) or the socket (without).
 *
 * `live` is said of a subscription that stands: its query failed, the server asks it
 * again by itself, and a `snapshot` comes when it works.  Without it, a subscription
 * that is answered by an error does not exist.
 *
 * Not called `Error`, which is a word of JavaScript's own.
 */
export interface ErrorFrame {
  readonly type: "error";
  readonly id?: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly data?: unknown;
  readonly live?: boolean;
}

/** A file by address; the bytes are never on the socket. */
export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly url: string;
  readonly name?: string;
}

/** The server drains and will close: reconnect elsewhere. */
export interface Goodbye {
  readonly type: "goodbye";
  readonly reason: string;
  /** seconds; the client adds its own jitter */
  readonly retryAfter?: number;
}

/** The first frame.  `protocol` is judged by the gateway, which closes on another. */
export interface Hello {
  readonly type: "hello";
  readonly protocol: number;
  /** a bearer token; without one the socket is anonymous */
  readonly token?: string;
}

/** Who the socket speaks for, as the token says. */
export interface IdentityView {
  readonly userId: string;
  readonly roles: readonly string[];
}

/**
 * One entry of a thread, ordered by `seq`.
 *
 * `turn` is on assistant and tool rows.  `dedupe` is on the user's message of a
 * run that a call with this key started: the sender finds its own bubble by it.
 */
export interface Message {
  readonly id: string;
  readonly seq: number;
  readonly runId: string;
  readonly turn?: number;
  readonly dedupe?: string;
  readonly role: MessageRole;
  /** the plain text of the parts */
  readonly text: string;
  readonly parts: readonly Part[];
  readonly status: MessageStatus;
  readonly author?: string;
  readonly model?: string;
  readonly usage?: UsageView;
  readonly createdAt: string;
}

/** An answer to one call.  `inputHash` names the arguments that the person saw. */
export interface NewDecision {
  readonly toolCallId: string;
  readonly decision: ApprovalDecision;
  readonly reason?: string;
  readonly editedInput?: Readonly<Record<string, unknown>>;
  readonly inputHash?: string;
}

/** A tool call that waits for a person. */
export interface PendingApproval {
  readonly id: string;
  /** the conversation that asks: this one, or that of a child run */
  readonly key: string;
  readonly agent: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
  /** names the arguments, for the decision on them */
  readonly inputHash: string;
  /** whether the decider may change the arguments */
  readonly editable: boolean;
  /** who may decide, if not whoever usually does */
  readonly approvers: readonly string[];
  readonly requestedAt: string;
  readonly expiresAt?: string;
  /** what counts as decided then */
  readonly onExpiry?: ApprovalDecision;
}

/** Asks for a `pong`. */
export interface Ping {
  readonly type: "ping";
}

/** Answers a `ping`. */
export interface Pong {
  readonly type: "pong";
}

/** A row that is gone. */
export interface Remove {
  readonly op: "remove";
  readonly id: string;
}

/** One of several. */
export interface ResolvedApproval {
  readonly approvalId: string;
  readonly decision: ApprovalDecision;
  readonly decidedBy: string | null;
  readonly toolCallId: string;
}

/** The value of a call. */
export interface Result {
  readonly type: "result";
  readonly id: string;
  readonly value: unknown;
}

/** Why the last run failed.  `code` is for programs, `message` for people. */
export interface RunError {
  readonly code: string;
  readonly message: string;
}

/** The whole value of a subscription; it replaces what the client had. */
export interface Snapshot {
  readonly type: "snapshot";
  readonly id: string;
  readonly cursor: string;
  readonly value: unknown;
}

/** Asks for a query's value now and for every change of it. */
export interface Subscribe {
  readonly type: "subscribe";
  /** named by the client; in use once per socket */
  readonly id: string;
  readonly query: string;
  readonly args?: Readonly<Record<string, unknown>>;
  /** what the client has; only later changes are sent */
  readonly cursor?: string;
}

/** What was said. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** What the model thought before it spoke, where the provider shows it. */
export interface ThinkingPart {
  readonly type: "thinking";
  readonly text: string;
}

/**
 * What `agents:agentThread` answers; `null` for a missing thread.
 *
 * `runId` is the live run, else the one that ended last: by it a client that was answered
 * with a run's id knows that the run has come and gone.  `runStatus` knows more words than
 * the thread's status.  `branches` is there when this is the root of a conversation that has
 * some, `conversation` when this is a branch: the root's key.
 */
export interface ThreadView {
  readonly key: string;
  readonly agent: string;
  readonly owner?: string;
  readonly title: string | null;
  readonly status: ThreadStatus;
  readonly usage: UsageView;
  readonly runId: string | null;
  readonly runStatus?: RunStatus;
  readonly error: RunError | null;
  /** why the last run ended before its answer was final, as maxTurns */
  readonly stopped?: string;
  /** the answer of the run, if a form was asked for and it has ended; left out for null */
  readonly output?: unknown;
  readonly pendingApprovals: readonly PendingApproval[];
  /** in the order in which they are read */
  readonly waiting: readonly WaitingSend[];
  readonly branches?: BranchList;
  readonly conversation?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/**
 * A piece of what the model is saying, at its place in UTF-16 code units.
 *
 * `offset` 0 replaces the part.  A higher `attempt` replaces everything of the
 * turn, a lower one is dropped.
 */
export interface Token {
  readonly type: "token";
  readonly id: string;
  readonly run: string;
  readonly turn: number;
  readonly part: number;
  readonly kind: TokenKind;
  readonly offset: number;
  readonly text: string;
  readonly attempt: number;
}

/** A call the model asked for.  Its result is a message of its own. */
export interface ToolCallPart {
  readonly type: "tool_call";
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
}

/** What a tool answered.  An `open` message has neither `output` nor `isError` yet. */
export interface ToolResultPart {
  readonly type: "tool_result";
  readonly toolCallId: string;
  readonly name: string;
  /** left out while the call is open, and for null */
  readonly output?: unknown;
  /** left out while the call is open */
  readonly isError?: boolean;
}

/** Ends a subscription.  One that does not exist is no error. */
export interface Unsubscribe {
  readonly type: "unsubscribe";
  readonly id: string;
}

/** A row that is new, or that replaces the one with its `id`. */
export interface Upsert {
  readonly op: "upsert";
  readonly row: unknown;
}

/** Tokens and requests spent, summed over a message, a run or a thread. */
export interface UsageView {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/**
 * A message that was taken and that nobody has read yet.
 *
 * Of `kind` `run` it starts a run of its own (the one with its `id`) when the thread is
 * free; of `kind` `signal` the running one reads it, and the message has its `id`.
 * Signals that come as one message have that of the first.
 */
export interface WaitingSend {
  readonly id: string;
  readonly kind: WaitingKind;
  readonly text: string;
  /** its place among those that wait */
  readonly position: number;
  readonly createdAt: string;
  readonly author?: string;
  /** as the message will have it */
  readonly dedupe?: string;
}

/** Answers an accepted `hello`, and each accepted `auth`. */
export interface Welcome {
  readonly type: "welcome";
  readonly session: string;
  readonly identity: IdentityView | null;
  /** seconds; the client pings when it has heard nothing for that long */
  readonly heartbeat: number;
}

export type Part = TextPart | ThinkingPart | ToolCallPart | ToolResultPart | FilePart | DataPart;

export type RowOp = Upsert | Remove;

export type ClientFrame = Hello | Auth | Subscribe | Unsubscribe | Call | Ping;

export type ServerFrame = Welcome | Snapshot | Delta | Token | Result | ErrorFrame | Pong | Goodbye;

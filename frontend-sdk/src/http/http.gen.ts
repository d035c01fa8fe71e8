// Generated from app/http by `python -m app.http.export`. Do not edit.

import type { ApprovalDecision, ApprovalRecord, Message, PendingApproval, ResolvedApproval, RunError, RunStatus, Surface, ThreadStatus, UsageView, WaitingSend } from "../core/protocol.gen.js";

/** A prompt that was taken.  On a busy session the agent's policy says what becomes of it. */
export interface Accepted {
  readonly sessionId: string;
  /** the run that reads the prompt */
  readonly runId: string;
  /** true: the run was at work already */
  readonly steered?: boolean;
  /** the run waits for that many places */
  readonly position?: number;
}

/** An agent that the caller may know of. */
export interface AgentCard {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly access: "authenticated" | "public" | "internal";
}

/** All of them. */
export interface AgentList {
  readonly agents: readonly AgentCard[];
}

/** Approvals: those that wait, oldest first; then, newest first, those that were decided. */
export interface ApprovalList {
  readonly approvals: readonly ApprovalRecord[];
}

/** Whether this ended the run that was meant. */
export interface Cancelled {
  readonly cancelled: boolean;
}

/** The body of `POST .../approvals/{approvalId}`. */
export interface Decide {
  readonly decision: ApprovalDecision;
  readonly reason?: string;
  readonly editedInput?: Readonly<Record<string, unknown>>;
  /** names the arguments that were seen */
  readonly inputHash?: string;
  readonly via?: Surface;
}

/** Whether the run was unfinished, and so got the event. */
export interface Delivered {
  readonly delivered: boolean;
}

/** The body of `POST /runs/{id}/events`. */
export interface Event {
  readonly name: string;
  readonly payload?: unknown;
}

/** What went wrong.  `code` is for programs, `message` for people, and may change. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The body of `POST .../fork`; without a message, everything is copied. */
export interface Fork {
  readonly messageId?: string;
  /** whether that message is copied, too: after, unless said otherwise */
  readonly edge?: "after" | "before";
  readonly title?: string;
}

/** The new session. */
export interface Forked {
  readonly sessionId: string;
}

/** The body of `POST .../cancel` and `.../retry`; without a run, whichever it is now. */
export interface OfRun {
  readonly runId?: string;
}

/** The body of `POST /agents/{slug}`. */
export interface Prompt {
  readonly message: string;
  readonly sessionId?: string;
  readonly title?: string;
  readonly mode?: string;
  readonly model?: string;
  readonly goal?: unknown;
  /** a JSON Schema with type object, at most 32 KB: the form of the answer */
  readonly outputSchema?: unknown;
  readonly attachments?: unknown;
}

/** The body of `POST .../regenerate`; without a message, the last run is meant. */
export interface Regenerate {
  readonly messageId?: string;
  readonly model?: string;
}

/** The decisions that now stand. */
export interface ResolvedList {
  readonly decisions: readonly ResolvedApproval[];
}

/** Whether there was such a run.  One that did not fail answers CONFLICT. */
export interface Retried {
  readonly retried: boolean;
}

/** One run. */
export interface RunView {
  readonly id: string;
  readonly agent: string;
  readonly status: RunStatus;
  readonly turn: number;
  readonly usage: UsageView;
  readonly stopped: string | null;
  readonly error: RunError | null;
  /** the answer, if a form was asked for and it was given */
  readonly output: unknown;
  readonly createdAt: string | null;
  readonly finishedAt: string | null;
  readonly sessionId: string;
}

/**
 * The body of `POST .../signals`.
 *
 * `queue` is read when the running prompt has ended, `inject` before its next model request.
 */
export interface SendSignal {
  readonly message: string;
  readonly mode?: "queue" | "inject";
}

/** A session.  One that waits for a person is `running`, and says what it waits for. */
export interface Session {
  readonly sessionId: string;
  /** the same as sessionId: a session is a thread */
  readonly key: string;
  readonly agent: string;
  readonly owner: string | null;
  readonly title: string | null;
  readonly status: ThreadStatus;
  readonly usage: UsageView;
  readonly error: RunError | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** the unfinished run */
  readonly runId: string | null;
  /** how the newest run ended */
  readonly stopped: string | null;
  readonly goal: null;
  /** the newest run's answer, if a form was asked for; null until it has ended */
  readonly output: unknown;
  readonly messages: readonly Message[];
  readonly pendingApprovals: readonly PendingApproval[];
  readonly waiting: readonly WaitingSend[];
}

/** A page of sessions, newest activity first. */
export interface SessionList {
  readonly sessions: readonly SessionSummary[];
  /** the `before` of the next page; null: there is none */
  readonly next: string | null;
}

/** A session in a list. */
export interface SessionSummary {
  readonly sessionId: string;
  /** the same as sessionId: a session is a thread */
  readonly key: string;
  readonly agent: string;
  readonly owner: string | null;
  readonly title: string | null;
  readonly status: ThreadStatus;
  readonly usage: UsageView;
  readonly error: RunError | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Whether the session was idle and has begun to answer, and the run that will read it. */
export interface Signalled {
  readonly woke: boolean;
  readonly runId?: string;
}

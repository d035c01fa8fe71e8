/**
 * What a chat shows, computed from what is known: rows, live text, the thread, own sends.
 *
 * Pure, and one object: a view that reads it can never show a message beside the text it
 * grew from, or one thread's status beside another's messages.
 */

import type { Alternatives } from "./branches.js";
import type { RopewalkError } from "./errors.js";
import { type LiveText, type LiveTurn, liveTurns, spokenText } from "./live-text.js";
import {
  type ChatMessage,
  type ChatStatus,
  isBusy,
  overlay,
  type Send,
  unsettled,
} from "./optimistic.js";
import type { Message, PendingApproval, ThreadView, WaitingSend } from "./protocol.gen.js";
import type { ThreadSends } from "./sends.js";

/** What went wrong: with the last run, with a send, or with reading the thread. */
export interface ChatError {
  readonly code: string;
  readonly message: string;
  readonly data?: unknown;
}

export interface AgentState {
  /** Undefined until known, null while there is none (or it is somebody else's). */
  readonly thread: ThreadView | null | undefined;
  readonly status: ChatStatus;
  /** Whether a send of ours has no answer yet. */
  readonly pending: boolean;
  readonly error: ChatError | undefined;
}

export interface ChatState extends AgentState {
  /** Oldest first; the last may be bubbles that are not stored yet. */
  readonly messages: readonly ChatMessage[];
  /** Messages that are being written just now. */
  readonly live: readonly LiveTurn[];
  /** The plain text of the newest of them. */
  readonly streamingText: string;
  readonly pendingApprovals: readonly PendingApproval[];
  /** Where the conversation has gone on in other ways, too. */
  readonly branches: readonly Alternatives[];
  /** Whether there are messages before the first one here. */
  readonly hasOlder: boolean;
  readonly loadingOlder: boolean;
}

const NOTHING: readonly never[] = [];

export function agentState(
  thread: ThreadView | null | undefined,
  rows: readonly Message[] | undefined,
  { sends, failure, retrying }: ThreadSends,
  unreadable: RopewalkError | undefined,
): AgentState {
  const open = unsettled(sends, rows ?? NOTHING, thread);
  const again = thread?.status === "failed" && thread.updatedAt === retrying;
  const begins = open.length > 0 || again;
  return {
    thread,
    status: statusOf(thread, begins),
    pending: again || open.some((send) => send.runId === undefined),
    error: failure ?? unreadable ?? (begins ? undefined : (thread?.error ?? undefined)),
  };
}

export function chatState(
  agent: AgentState,
  loading: boolean,
  messages: readonly ChatMessage[],
  live: readonly LiveTurn[],
  older: boolean,
  branches: readonly Alternatives[],
): ChatState {
  return {
    ...agent,
    // A thread that rests and whose messages are unknown is not an empty one.
    status: loading && !isBusy(agent.status) ? "loading" : agent.status,
    messages,
    live,
    streamingText: spokenText(live),
    pendingApprovals: agent.thread?.pendingApprovals ?? NOTHING,
    branches,
    hasOlder: (messages[0]?.seq ?? 1) > 1,
    loadingOlder: older,
  };
}

/** Return the messages to show, the same list as long as nothing in it changed. */
export function messagesOf(
  rows: readonly Message[] | undefined,
  sends: readonly Send[],
  waiting: readonly WaitingSend[],
): readonly ChatMessage[] {
  return overlay(rows ?? NOTHING, sends, waiting);
}

/** Return the turns that are being spoken: those of runs that are not over. */
export function speaking(
  live: LiveText,
  rows: readonly Message[] | undefined,
  thread: ThreadView | null | undefined,
): readonly LiveTurn[] {
  return liveTurns(live, (run) => isOver(run, rows ?? NOTHING, thread));
}

/** A run is over when the thread says so, or when the thread has gone on to another. */
function isOver(
  run: string,
  rows: readonly Message[],
  thread: ThreadView | null | undefined,
): boolean {
  if (thread?.runId === run) return !isBusy(thread.status);
  const newest = rows.at(-1)?.runId;
  return newest !== undefined && newest !== run && rows.some((row) => row.runId === run);
}

function statusOf(thread: ThreadView | null | undefined, begins: boolean): ChatStatus {
  if (thread && isBusy(thread.status)) return thread.status;
  if (begins) return "queued";
  if (thread === undefined) return "loading";
  return thread === null ? "idle" : thread.status;
}

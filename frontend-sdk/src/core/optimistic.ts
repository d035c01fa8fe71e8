/**
 * Messages that were sent and are not stored yet, laid over those that are.
 *
 * Pure.  A send is known by its dedupe key.  It may be on its way, then wait on the server
 * until the agent reads it, then be a row.  What is further on replaces what is not in the
 * very computation that shows it, so there is never a frame with two or with none.
 */

import type { Message, ThreadStatus, ThreadView, WaitingSend } from "./protocol.gen.js";

export interface Send {
  readonly dedupe: string;
  readonly input: string;
  readonly createdAt: string;
  /** The run that the answer named. */
  readonly runId?: string;
  /** The key of the branch that it began. */
  readonly branch?: string;
  /** Its run has shown, or was answered for so long ago that nobody should wait for it. */
  readonly seen?: true;
  /** The server had it waiting. */
  readonly waited?: true;
  /** It waits no more and no row has come: it was withdrawn, or the row is on its way. */
  readonly lost?: true;
  /** The place of the newest row when it was sent, if that was known: its own is after that. */
  readonly after?: number;
}

/** A message of the thread, or one that is on its way there. */
export interface ChatMessage extends Message {
  /** Not stored yet. */
  readonly optimistic?: true;
  /** It waits on the server until the agent reads it; `position` counts from 1. */
  readonly waiting?: WaitingSend;
}

/** `loading` until the thread is known; `idle` while it does not exist. */
export type ChatStatus = "loading" | "idle" | ThreadStatus;

/** Whether a run is unfinished, as a person sees it. */
export function isBusy(status: ChatStatus): boolean {
  return status === "queued" || status === "running" || status === "awaiting_input";
}

const NOBODY: readonly never[] = [];
/** How the text of signals begins that came as one message. */
const TOLD = "[message] ";

export function addSend(sends: readonly Send[], send: Send): readonly Send[] {
  return [...sends, send];
}

export function changeSend(
  sends: readonly Send[],
  dedupe: string,
  change: Partial<Send>,
): readonly Send[] {
  return sends.map((send) => (send.dedupe === dedupe ? { ...send, ...change } : send));
}

export function dropSend(sends: readonly Send[], dedupe: string): readonly Send[] {
  return sends.filter((send) => send.dedupe !== dedupe);
}

/** What waits on the server. A server of an earlier day does not say. */
export function waitingOf(thread: ThreadView | null | undefined): readonly WaitingSend[] {
  return thread?.waiting ?? NOBODY;
}

/** Return the rows with a bubble after them for each message that has no row yet. */
export function overlay(
  rows: readonly Message[],
  sends: readonly Send[],
  waiting: readonly WaitingSend[],
): readonly ChatMessage[] {
  if (waiting.length + sends.length === 0) return rows;
  const heads = rows.filter((row) => waiting.some(({ id }) => id === row.id || id === row.runId));
  const unread = waiting.filter((one) => !isStored(one, rows, heads));
  const unheard = sends.filter(
    (send) => !rowOf(rows, send) && !placeOf(unread, send) && !isPassed(send, rows),
  );
  if (unread.length + unheard.length === 0) return rows;
  const next = (rows.at(-1)?.seq ?? 0) + 1;
  const bubbles = [...unread.map(waitingBubble), ...unheard.map(bubble)];
  return [...rows, ...bubbles.map((one, index) => ({ ...one, seq: next + index }))];
}

/** Return the sends whose run the thread does not show yet. They make a chat busy. */
export function unsettled(
  sends: readonly Send[],
  rows: readonly Message[],
  thread: ThreadView | null | undefined,
): readonly Send[] {
  const newest = rows.at(-1)?.runId;
  return sends.filter((send) => {
    if (send.seen || placeOf(waitingOf(thread), send)) return false;
    const run = rowOf(rows, send)?.runId ?? send.runId;
    if (run === undefined) return true;
    // Its run is the one on show, or another came after it.
    return thread?.runId !== run && (newest === undefined || newest === run || !has(rows, run));
  });
}

/** Return the sends without those that are stored, and the others marked with what is known. */
export function review(
  sends: readonly Send[],
  rows: readonly Message[],
  thread: ThreadView | null | undefined,
): readonly Send[] {
  const open = new Set(unsettled(sends, rows, thread));
  const kept = sends
    .filter((send) => open.has(send) || !(rowOf(rows, send) || isPassed(send, rows)))
    .map((send) => marked(send, open.has(send), placeOf(waitingOf(thread), send) !== undefined));
  const same = kept.length === sends.length && kept.every((send, index) => send === sends[index]);
  return same ? sends : kept;
}

/** The key under which a view may keep a message's element: the same before and after it is stored. */
export function messageKey(message: ChatMessage): string {
  if (message.dedupe !== undefined) return message.dedupe;
  return message.role === "assistant" &&
    message.turn !== undefined &&
    message.status !== "interrupted"
    ? liveKey(message.runId, message.turn)
    : message.id;
}

/** The key of a message that is being written; `messageKey` of the finished one is the same. */
export function liveKey(run: string, turn: number): string {
  return `${run}:${turn}`;
}

function marked(send: Send, open: boolean, waits: boolean): Send {
  const { lost: wasLost, ...rest } = send;
  const lost = send.waited === true && !waits;
  const seen = send.seen || !open;
  if ((wasLost ?? false) === lost && (send.seen ?? false) === seen && (send.waited || !waits)) {
    return send;
  }
  return {
    ...rest,
    ...(seen && { seen }),
    ...((send.waited || waits) && { waited: true }),
    ...(lost && { lost }),
  };
}

/** What waits on the server for a send. */
function placeOf(waiting: readonly WaitingSend[], send: Send): WaitingSend | undefined {
  return waiting.find(({ id, dedupe }) => dedupe === send.dedupe || id === send.runId);
}

/** Whether a message that waited has become a row; `heads` are rows that something waiting became. */
function isStored(one: WaitingSend, rows: readonly Message[], heads: readonly Message[]): boolean {
  const known = one.dedupe !== undefined && rows.some(({ dedupe }) => dedupe === one.dedupe);
  return (
    known ||
    heads.some(
      ({ id, runId, text }) =>
        id === one.id ||
        runId === one.id ||
        // Several signals that were read together are one row, named for the first.
        (one.kind === "signal" && text.startsWith(TOLD) && text.includes(TOLD + one.text)),
    )
  );
}

function rowOf(rows: readonly Message[], send: Send): Message | undefined {
  return rows.findLast((row) => row.dedupe === send.dedupe);
}

/** Whether its row is before the first one here: it should have come, and the page began anew. */
function isPassed({ after = 0, seen }: Send, rows: readonly Message[]): boolean {
  return seen === true && (rows[0]?.seq ?? 0) > after + 1;
}

function has(rows: readonly Message[], run: string): boolean {
  return rows.some((row) => row.runId === run);
}

function bubble(send: Send): ChatMessage {
  const { dedupe, input, createdAt, runId = "" } = send;
  return written({ id: `optimistic:${dedupe}`, runId, dedupe, createdAt }, input);
}

function waitingBubble(waiting: WaitingSend): ChatMessage {
  const { id, kind, text, createdAt, author, dedupe } = waiting;
  const ids = kind === "run" ? { id: `waiting:${id}`, runId: id } : { id, runId: "" };
  return written(
    { ...ids, createdAt, waiting, ...(author && { author }), ...(dedupe && { dedupe }) },
    text,
  );
}

function written(
  known: Pick<ChatMessage, "id" | "runId" | "createdAt"> & Partial<ChatMessage>,
  text: string,
): ChatMessage {
  return {
    seq: 0,
    role: "user",
    text,
    parts: [{ type: "text", text }],
    status: "complete",
    optimistic: true,
    ...known,
  };
}

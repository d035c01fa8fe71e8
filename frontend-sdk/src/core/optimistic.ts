/**
 * Messages that were sent and are not stored yet, laid over those that are.
 *
 * Pure.  A send is known by its dedupe key.  The row that carries the same key replaces
 * the bubble in the very computation that shows the row, so there is never a frame with
 * both or with neither.
 */

import type { Message, ThreadView } from "./protocol.gen.js";

export interface Send {
  readonly dedupe: string;
  readonly input: string;
  readonly createdAt: string;
  /** The run that the answer named. */
  readonly runId?: string;
  /** Its run has shown, or was answered for so long ago that nobody should wait for it. */
  readonly seen?: true;
}

/** A message of the thread, or one that is on its way there. */
export interface ChatMessage extends Message {
  /** Not stored yet. */
  readonly optimistic?: true;
}

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

/** Return the rows with a bubble after them for each send that has no row yet. */
export function overlay(rows: readonly Message[], sends: readonly Send[]): readonly ChatMessage[] {
  const waiting = sends.filter((send) => rowOf(rows, send) === undefined);
  if (waiting.length === 0) return rows;
  const last = rows.at(-1)?.seq ?? 0;
  return [...rows, ...waiting.map((send, index) => bubble(send, last + 1 + index))];
}

/** Return the sends whose run the thread does not show yet. They make a chat busy. */
export function unsettled(
  sends: readonly Send[],
  rows: readonly Message[],
  thread: ThreadView | null | undefined,
): readonly Send[] {
  const newest = rows.at(-1)?.runId;
  return sends.filter((send) => {
    if (send.seen) return false;
    const run = rowOf(rows, send)?.runId ?? send.runId;
    if (run === undefined) return true;
    // Its run is the one on show, or another came after it.
    return thread?.runId !== run && (newest === undefined || newest === run || !has(rows, run));
  });
}

/** Return the sends without those that are stored, and with those marked whose run was seen. */
export function review(
  sends: readonly Send[],
  rows: readonly Message[],
  thread: ThreadView | null | undefined,
): readonly Send[] {
  const waiting = new Set(unsettled(sends, rows, thread));
  const kept = sends
    .filter((send) => waiting.has(send) || rowOf(rows, send) === undefined)
    .map((send): Send => (waiting.has(send) || send.seen ? send : { ...send, seen: true }));
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

function rowOf(rows: readonly Message[], send: Send): Message | undefined {
  return rows.findLast((row) => row.dedupe === send.dedupe);
}

function has(rows: readonly Message[], run: string): boolean {
  return rows.some((row) => row.runId === run);
}

function bubble(send: Send, seq: number): ChatMessage {
  return {
    id: `optimistic:${send.dedupe}`,
    seq,
    runId: send.runId ?? "",
    dedupe: send.dedupe,
    role: "user",
    text: send.input,
    parts: [{ type: "text", text: send.input }],
    status: "complete",
    createdAt: send.createdAt,
    optimistic: true,
  };
}

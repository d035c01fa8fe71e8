/** Which messages can be answered again, or said otherwise: pure. */

import { type ChatMessage, type ChatStatus, isBusy } from "ropewalk";

export interface Offers {
  /** The answer that can be had again. */
  readonly last: string | undefined;
  /** What the user said to begin runs. */
  readonly editable: ReadonlySet<string>;
}

/**
 * Return what is offered on `messages`. What waits for a person can be left waiting, what works
 * is stopped first; a run that failed is retried, which loses nothing.
 */
export function offersOf(messages: readonly ChatMessage[], status: ChatStatus): Offers {
  const stored = messages.filter(({ optimistic }) => !optimistic);
  if (isBusy(status) && status !== "awaiting_input")
    return { last: undefined, editable: new Set() };
  const newest = stored.findLast(({ role }) => role !== "tool");
  // The first message of a run; a later one of the user's was told to it on the way.
  const begins = new Map([...stored].reverse().map((one) => [one.runId, one]));
  return {
    last: newest?.role === "assistant" && status !== "failed" ? newest.id : undefined,
    editable: new Set(
      [...begins.values()].flatMap(({ id, role }) => (role === "user" ? [id] : [])),
    ),
  };
}

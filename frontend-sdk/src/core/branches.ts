/**
 * Where a conversation has gone on in more than one way, as seen from the branch on show.
 *
 * Pure.  Branches are a tree: each shares its first messages with its parent, up to `shared`,
 * and a child always more of them than its parent does with the grandparent.
 */

import type { BranchList, BranchView, Message } from "./protocol.gen.js";

/** The ways on at one message of the branch on show. */
export interface Alternatives {
  /** The first message that the ways do not share. */
  readonly messageId: string;
  /** Which of `keys` is on show, from 0. */
  readonly index: number;
  readonly count: number;
  /** The branches to select, the oldest first. */
  readonly keys: readonly string[];
}

/** A branch that was selected here. */
export interface Choice {
  readonly branch: string;
  /** What was selected when the answer came, as far as was known: it may not tell of this yet. */
  readonly seen?: string;
  /** Until there is an answer: ends with it, whatever it is. */
  readonly answered?: Promise<unknown>;
}

/** Return the branches with the one selected that was chosen, until the server has told of it. */
export function choose(
  heard: BranchList | undefined,
  choice: Choice | undefined,
): BranchList | undefined {
  return heard && choice && !isHeard(choice, heard) ? { ...heard, selected: choice.branch } : heard;
}

export function isHeard(choice: Choice | undefined, heard: BranchList | undefined): boolean {
  return choice?.seen !== undefined && choice.seen !== heard?.selected;
}

const NONE: readonly never[] = [];

/** Return the alternatives on the path to `shown`, in the order of the messages. */
export function alternatives(
  branches: BranchList | undefined,
  shown: string,
  rows: readonly Message[] | undefined,
): readonly Alternatives[] {
  if (!branches || !rows) return NONE;
  const { list } = branches;
  const found = new Map<number, Omit<Alternatives, "messageId">>();
  let through: BranchView | undefined;
  for (let key: string | null = shown; key !== null; key = through?.parent ?? null) {
    const end = through?.shared ?? Number.POSITIVE_INFINITY;
    const children = list.filter(({ parent, shared }) => parent === key && shared <= end);
    for (const shared of new Set(children.map((one) => one.shared))) {
      const keys = [key, ...children.flatMap((one) => (one.shared === shared ? [one.key] : []))];
      // The path goes into the child that it came from, and past all others.
      const index = shared === end && through ? keys.indexOf(through.key) : 0;
      found.set(shared, { index, count: keys.length, keys });
    }
    through = list.find((one) => one.key === key);
  }
  return rows.flatMap(({ id: messageId, seq }) => {
    const ways = found.get(seq - 1);
    return ways ? [{ messageId, ...ways }] : [];
  });
}

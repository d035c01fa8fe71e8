/**
 * What a subscription knows: a value and the cursor up to which it has everything.
 *
 * Pure.  A snapshot replaces the value, a delta changes the rows of a list, and a delta
 * from beyond the cursor says that something was missed: then nothing is guessed, the
 * shell subscribes again.  Rows that did not change keep their identity, so that a view
 * draws again only what is new.
 */

import type { Delta, RowOp, Snapshot } from "./protocol.gen.js";

export interface QueryState {
  /** Undefined before the first answer. */
  readonly cursor: string | undefined;
  readonly value: unknown;
}

export const UNASKED: QueryState = { cursor: undefined, value: undefined };

export type Verdict = "apply" | "ignore" | "resubscribe";

interface Row {
  readonly id: string;
  readonly seq?: number;
}

/** Return what to do with a delta; see the table in docs/protocol.md. */
export function judge(mine: string, delta: Pick<Delta, "from" | "cursor">): Verdict {
  const [timeline, version] = split(mine);
  const [fromTimeline, from] = split(delta.from);
  const [toTimeline, to] = split(delta.cursor);
  if (timeline !== fromTimeline || timeline !== toTimeline) return "resubscribe";
  if (compare(to, version) <= 0) return "ignore";
  return compare(from, version) <= 0 ? "apply" : "resubscribe";
}

export function sameTimeline(a: string, b: string): boolean {
  return split(a)[0] === split(b)[0];
}

/**
 * Return the state after a snapshot. Of a list of rows, older pages that still join on are
 * kept; any other value is taken as it is, one that happens to be an array as well.
 */
export function applySnapshot(
  state: QueryState,
  { cursor, value }: Pick<Snapshot, "cursor" | "value">,
  list: boolean,
): QueryState {
  if (!list || !Array.isArray(value)) {
    return { cursor, value: same(state.value, value) ? state.value : value };
  }
  const old =
    state.cursor !== undefined && Array.isArray(state.value) ? (state.value as Row[]) : [];
  const known = new Map(old.map((row) => [row.id, row]));
  const rows = (value as Row[]).map((row) => {
    const before = known.get(row.id);
    return before !== undefined && same(before, row) ? before : row;
  });
  const joined = state.cursor !== undefined && sameTimeline(state.cursor, cursor);
  const all = joined ? [...olderThan(rows[0], old), ...rows] : rows;
  return { cursor, value: sameRows(old, all) ? old : all };
}

/** Return the state after a delta that `judge` said to apply. */
export function applyDelta(state: QueryState, { cursor, ops }: Delta): QueryState {
  if (!Array.isArray(state.value) || ops.length === 0) return { ...state, cursor };
  const rows = [...(state.value as Row[])];
  for (const op of ops) applyOp(rows, op);
  return { cursor, value: rows };
}

/** Return the state with a page of older rows in front, if it still joins on. */
export function prepend(state: QueryState, page: readonly Row[]): QueryState {
  if (!Array.isArray(state.value)) return state;
  const rows = state.value as Row[];
  const fresh = joining(rows[0], page);
  return fresh.length === 0 ? state : { ...state, value: [...fresh, ...rows] };
}

function applyOp(rows: Row[], op: RowOp): void {
  const id = op.op === "upsert" ? (op.row as Row).id : op.id;
  // Changes concern new rows nearly always.
  const at = rows.findLastIndex((row) => row.id === id);
  if (op.op === "remove") {
    if (at >= 0) rows.splice(at, 1);
    return;
  }
  const row = op.row as Row;
  if (at >= 0) {
    rows[at] = row;
    return;
  }
  const { seq } = row;
  if (seq === undefined) {
    rows.push(row);
    return;
  }
  const first = rows[0]?.seq;
  // A row of a page that was never loaded: it would stand beside a hole.
  if (first !== undefined && seq < first) return;
  rows.splice(rows.findLastIndex((one) => (one.seq ?? 0) < seq) + 1, 0, row);
}

/**
 * Return the rows of older pages that join the first row of a snapshot without a hole.
 *
 * A row that was open may have changed since, and what lies before it is given up with it; a
 * finished one never changes.
 */
function olderThan(first: Row | undefined, old: readonly Row[]): Row[] {
  const open = old.findLastIndex(
    (row) => (row as { status?: unknown }).status === "open" && (row.seq ?? 0) < (first?.seq ?? 0),
  );
  return joining(first, old.slice(open + 1));
}

/** Return the rows that come before `first` without a hole: `seq` has no gaps, so one shows. */
function joining(first: Row | undefined, rows: readonly Row[]): Row[] {
  let next = first?.seq ?? 0;
  const begin = rows.findLastIndex(({ seq = next }) => {
    if (seq === next - 1) next = seq;
    return seq < next;
  });
  return rows.slice(begin + 1).filter(({ seq = 0 }) => seq < (first?.seq ?? 0));
}

function sameRows(a: readonly Row[], b: readonly Row[]): boolean {
  return a.length === b.length && a.every((row, index) => row === b[index]);
}

/** Both came from JSON of one server, so equal text is equal value; a miss costs one render. */
export function same(a: unknown, b: unknown): boolean {
  return a === b || (a !== undefined && JSON.stringify(a) === JSON.stringify(b));
}

function split(cursor: string): [timeline: string, version: string] {
  const dot = cursor.lastIndexOf(".");
  return [cursor.slice(0, dot), cursor.slice(dot + 1)];
}

/** Versions are decimal without leading zeros: this is exact beyond what a double holds. */
function compare(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

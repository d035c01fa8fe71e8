import { describe, expect, it } from "vitest";
import type { Delta, Message, Snapshot } from "../../src/core/index.js";
import {
  applySnapshot as apply,
  applyDelta,
  prepend,
  type QueryState,
  UNASKED,
} from "../../src/core/thread-state.js";
import { aMessage } from "../support/builders.js";

const snapshot = (version: number, value: unknown, timeline = "a-1"): Snapshot => ({
  type: "snapshot",
  id: "m",
  cursor: `${timeline}.${version}`,
  value,
});
const delta = (version: number, ...rows: Message[]): Delta => ({
  type: "delta",
  id: "m",
  from: `a-1.${version - 1}`,
  cursor: `a-1.${version}`,
  ops: rows.map((row) => ({ op: "upsert", row })),
});
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => aMessage({ seq: from + index }));
const applySnapshot = (state: QueryState, frame: Snapshot) => apply(state, frame, true);
const seqs = (state: QueryState) => (state.value as Message[]).map(({ seq }) => seq);

describe("what a subscription knows", () => {
  it("SUB-01 grows by the rows of a delta, in the order of seq", () => {
    const state = applySnapshot(UNASKED, snapshot(1, rows(1, 2)));

    const after = applyDelta(state, delta(2, aMessage({ seq: 4 }), aMessage({ seq: 3 })));

    expect(seqs(after)).toEqual([1, 2, 3, 4]);
    expect(after.cursor).toBe("a-1.2");
  });

  it("SUB-01 replaces a row by its id, and keeps all others the same objects", () => {
    const before = applySnapshot(UNASKED, snapshot(1, rows(1, 3)));

    const after = applyDelta(before, delta(2, aMessage({ seq: 2, text: "done" })));

    const [old, changed] = [before.value as Message[], after.value as Message[]];
    expect(changed[1]?.text).toBe("done");
    expect(changed[0]).toBe(old[0]);
    expect(changed[2]).toBe(old[2]);
  });

  it("takes a row away", () => {
    const state = applySnapshot(UNASKED, snapshot(1, rows(1, 3)));

    const after = applyDelta(state, { ...delta(2), ops: [{ op: "remove", id: "m-2" }] });

    expect(seqs(after)).toEqual([1, 3]);
  });

  it("does not show a row beside a hole: one from before the first page is left out", () => {
    const state = applySnapshot(UNASKED, snapshot(1, rows(10, 12)));

    expect(seqs(applyDelta(state, delta(2, aMessage({ seq: 4 }))))).toEqual([10, 11, 12]);
  });

  it("keeps the order of a list that has no seq", () => {
    const state = applySnapshot(UNASKED, snapshot(1, [{ id: "b" }, { id: "a" }]));

    const after = applyDelta(state, {
      ...delta(2),
      ops: [
        { op: "upsert", row: { id: "c" } },
        { op: "upsert", row: { id: "b", done: true } },
      ],
    });

    expect(after.value).toEqual([{ id: "b", done: true }, { id: "a" }, { id: "c" }]);
  });

  it("is the same value after a snapshot that says the same", () => {
    const list = applySnapshot(UNASKED, snapshot(1, rows(1, 3)));
    const value = applySnapshot(UNASKED, snapshot(1, { title: "x" }));

    expect(applySnapshot(list, snapshot(2, rows(1, 3))).value).toBe(list.value);
    expect(applySnapshot(value, snapshot(2, { title: "x" })).value).toBe(value.value);
  });

  it("keeps older pages that join on to a new snapshot, and drops those behind a hole", () => {
    const state = prepend(applySnapshot(UNASKED, snapshot(1, rows(5, 8))), rows(1, 4));

    expect(seqs(applySnapshot(state, snapshot(2, rows(7, 10))))).toEqual(
      rows(1, 10).map((r) => r.seq),
    );
    expect(seqs(applySnapshot(state, snapshot(2, rows(20, 21))))).toEqual([20, 21]);
  });

  it("drops older rows from an open one on: it may have changed meanwhile", () => {
    const old = rows(1, 5).map((row) =>
      row.seq === 2 ? { ...row, status: "open" as const } : row,
    );
    const state = applySnapshot(UNASKED, snapshot(1, old));

    expect(seqs(applySnapshot(state, snapshot(2, rows(5, 6))))).toEqual([3, 4, 5, 6]);
  });

  it("drops everything older after the database went back to another timeline", () => {
    const state = applySnapshot(UNASKED, snapshot(9, rows(1, 5)));

    expect(seqs(applySnapshot(state, snapshot(3, rows(3, 4), "a-2")))).toEqual([3, 4]);
  });

  it("puts a page in front once", () => {
    const state = applySnapshot(UNASKED, snapshot(1, rows(3, 4)));

    expect(seqs(prepend(prepend(state, rows(1, 2)), rows(1, 2)))).toEqual([1, 2, 3, 4]);
  });

  it("leaves out a page that joins on no more, because the newest one began anew meanwhile", () => {
    const state = applySnapshot(UNASKED, snapshot(1, rows(8, 9)));

    expect(prepend(state, rows(3, 4))).toBe(state);
    expect(seqs(prepend(state, [...rows(3, 4), ...rows(6, 8)]))).toEqual([6, 7, 8, 9]);
  });

  it("STA-08 B71 takes a value that is an array as it is, whatever is in it", () => {
    const value = [null, { id: "x", seq: 2 }];
    const before = apply(UNASKED, snapshot(1, [{ id: "w", seq: 1 }, ...value]), false);

    const after = apply(before, snapshot(2, value), false);

    expect(after.value).toBe(value);
    expect(apply(after, snapshot(3, [null, { id: "x", seq: 2 }]), false).value).toBe(value);
  });
});

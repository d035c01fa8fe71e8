import type { ApprovalRecord } from "ropewalk";
import { describe, expect, it } from "vitest";
import { childrenAfter } from "../src/approvals/children.js";
import { changesOf, inputOf } from "../src/approvals/edited.js";

describe("edited arguments", () => {
  it.each(['{"on": false}', '{"count": 0}', '{"text": ""}', "{}", '{"none": null}'])(
    "are what was written, empty or false: %s",
    (text) => {
      expect(inputOf(text)).toEqual({ input: JSON.parse(text) });
    },
  );

  it.each(["", "{", "{'a': 1}"])("that are no JSON are told to be none: %s", (text) => {
    expect(inputOf(text)).toEqual({ problem: expect.stringContaining("no JSON") });
  });

  it.each(["[]", "null", "0", '""', "false"])("that are no object are refused: %s", (text) => {
    expect(inputOf(text)).toEqual({ problem: expect.stringContaining("an object") });
  });

  it("show what was changed, added and taken away, and nothing else", () => {
    const before = { same: 1, on: true, gone: "x" };

    expect(changesOf(before, { same: 1, on: false, fresh: 0 })).toEqual([
      { name: "on", before: "true", after: "false" },
      { name: "gone", before: '"x"', after: undefined },
      { name: "fresh", before: undefined, after: "0" },
    ]);
  });
});

describe("what others ask", () => {
  const at = (second: number) => `2026-11-29T17:33:0${second}Z`;
  const child = (id: string, second: number) =>
    ({ id, requestedAt: at(second) }) as unknown as ApprovalRecord;

  it("stands after what was there when they asked, and before what came later", () => {
    const times = [at(1), at(2), at(5), undefined];

    const after = childrenAfter(times, [child("a", 3), child("b", 4), child("c", 6)]);

    expect(after.map((some) => some.map(({ id }) => id))).toEqual([[], ["a", "b"], ["c"], []]);
  });

  it("stands first where its place is on a page that is not loaded", () => {
    expect(childrenAfter([at(5)], [child("a", 3)])).toEqual([[child("a", 3)]]);
  });
});

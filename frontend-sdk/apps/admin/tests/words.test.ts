/** Values, times, addresses and bars, as people read them. */

import { RopewalkError } from "ropewalk";
import { describe, expect, test } from "vitest";
import { placeOf, to } from "../src/router.js";
import { askedOf, localOf, momentOf } from "../src/runs/when.js";
import { resultsAfter } from "../src/threads/use-fork.js";
import { barsOver, totalOf } from "../src/ui/bar.js";
import { ago, bytes, duration } from "../src/ui/moments.js";
import { joined } from "../src/ui/pages.js";
import { changesOf, fieldsOf, words } from "../src/ui/values.js";

describe("values", () => {
  test("simple ones are words, falsy ones too", () => {
    expect(["a", "", 0, false, true, null, { a: 1 }].map(words)).toEqual([
      "a",
      "(empty text)",
      "0",
      "no",
      "yes",
      "–",
      '{\n  "a": 1\n}',
    ]);
  });

  test("only objects have fields", () => {
    expect(fieldsOf({ a: 0 })).toEqual([["a", 0]]);
    expect([[], null, "a", 1].map(fieldsOf)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("APR-13: an edit shows what it changed, added and left out", () => {
    expect(changesOf({ a: 1, b: { c: [1] }, d: 0 }, { a: 1, b: { c: [2] }, e: false })).toEqual([
      { name: "b", before: { c: [1] }, after: { c: [2] } },
      { name: "d", before: 0, after: undefined },
      { name: "e", before: undefined, after: false },
    ]);
  });
});

describe("times", () => {
  test.each([
    [0, "just now"],
    [12_000, "12 s ago"],
    [125_000, "2 min ago"],
    [3 * 3_600_000, "3 h ago"],
    [3 * 86_400_000, "3 days ago"],
    [-47.9 * 3_600_000, "in 48 h"],
  ])("%d ms ago", (passed, expected) => {
    expect(ago(1_000_000_000_000 - passed, 1_000_000_000_000)).toBe(expected);
  });

  test.each([
    [null, "–"],
    [0.4, "<1 ms"],
    [12.3, "12 ms"],
    [1_240, "1.24 s"],
    [65_000, "1 min 5 s"],
    [2 * 3_600_000, "2 h"],
    [27 * 3_600_000, "1 d 3 h"],
  ])("a duration of %s ms", (ms, expected) => {
    expect(duration(ms)).toBe(expected);
  });

  test("sizes go up by thousands", () => {
    expect([12, 1_500, 8_828_607].map(bytes)).toEqual(["12 B", "1.5 kB", "8.8 MB"]);
  });
});

describe("addresses", () => {
  test.each(["a/b", "a b", "ä?#%", "x.y"])("a key like %s comes back as it was", (key) => {
    expect(placeOf(to("threads", key))).toEqual({ page: "threads", key });
  });

  test("pages are found with and without a slash at the end; the rest is nowhere", () => {
    expect(placeOf("/admin")).toEqual({ page: "inbox", tab: "waiting" });
    expect(placeOf("/admin/")).toEqual({ page: "inbox", tab: "waiting" });
    expect(placeOf("/admin/decided")).toEqual({ page: "inbox", tab: "decided" });
    expect(placeOf("/admin/runs/")).toEqual({ page: "runs" });
    expect(placeOf("/admin/nothing")).toEqual({ page: "nowhere" });
    expect(placeOf("/admin/runs/a/b")).toEqual({ page: "nowhere" });
    expect(placeOf("/admin/threads/%E0%A4%A")).toEqual({ page: "threads", key: "%E0%A4%A" });
  });
});

test("an hour has sixty bars, also of minutes in which nothing happened", () => {
  const now = Date.parse("2026-11-30T10:59:30Z");
  const bars = barsOver(
    [
      { at: "2026-11-30T10:59:00Z", value: 2 },
      { at: "2026-11-30T10:00:00Z", value: 4 },
      { at: "2026-11-30T09:00:00Z", value: 100 },
    ],
    { ms: 60_000, count: 60 },
    now,
  );

  expect(bars).toHaveLength(60);
  expect([bars[0]?.height, bars[1]?.height, bars[59]?.height]).toEqual([1, 0, 0.5]);
  expect(totalOf(bars)).toBe(6);
});

test("a list whose first page moves on loses no row, and shows each once, as it is now", () => {
  const rows = (words: string) =>
    words.split(" ").map((word) => ({ id: word.slice(0, 1), at: word.slice(1) }));
  const shown = (live: string, before: string) =>
    joined(live === "" ? [] : rows(live), rows(before), ({ id }) => id)
      .map(({ id, at }) => id + at)
      .join(" ");
  const before = "c d e f g";

  expect(shown("c d e", before)).toBe("c d e f g");
  expect(shown("a b c", before)).toBe("a b c d e f g");
  expect(shown("g1 c d", before)).toBe("g1 c d e f");
  expect(shown("c e f1", before)).toBe("c e f1 g");
  expect(shown("x y z", before)).toBe("x y z c d e f g");
  expect(shown("", before)).toBe("c d e f g");
});

test("when a run began is asked as the address says it, and nonsense is not asked", () => {
  const [since, until] = ["2026-11-30T10:00:00.000Z", "2026-11-30T12:00:00.000Z"];

  expect(askedOf({ time: "day", since, minTokens: "100" })).toEqual({
    withinS: 86_400,
    minTokens: 100,
  });
  expect(askedOf({ time: "between", since, until })).toEqual({ since, until });
  expect(askedOf({ time: "between", since: "yesterday", until: "2026-11-30T12:00" })).toEqual({});
  expect(askedOf({ time: "century", minTokens: "-1" })).toEqual({});
  expect(askedOf({ minTokens: "many" })).toEqual({});
});

test("a moment goes to a local field and back, to the minute", () => {
  expect(momentOf(localOf("2026-11-30T10:59:00.000Z"))).toBe("2026-11-30T10:59:00.000Z");
  expect([momentOf(""), localOf("nonsense")]).toEqual(["", ""]);
});

test("a cut between a call and its result is made after the result, where the server says so", () => {
  const refused = new RopewalkError("INVALID_ARGUMENT", "no", { before: "m1", after: "m3" });

  expect(resultsAfter(refused)).toBe("m3");
  expect(
    resultsAfter(new RopewalkError("INVALID_ARGUMENT", "no", { before: "m1" })),
  ).toBeUndefined();
  expect(resultsAfter(new RopewalkError("NOT_FOUND", "no", { after: "m3" }))).toBeUndefined();
  expect(resultsAfter(new Error("no"))).toBeUndefined();
});

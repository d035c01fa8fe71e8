/** What an override says beside the code, what changed between two, and who did what. */

import { describe, expect, test } from "vitest";
import type { CodedAgent } from "../src/admin.gen.js";
import { changesBetween, tidied, withField } from "../src/config/content.js";
import { linesBetween, shortened } from "../src/config/lines.js";
import { deedOf } from "../src/governance/deeds.js";
import { placeOf } from "../src/router.js";
import { namesIn } from "../src/ui/names-field.js";
import { same } from "../src/ui/use-edited.js";

const CODE: CodedAgent = {
  instructions: "Be brief.",
  model: "openai:gpt-5",
  autonomy: "as_coded",
  maxTurns: 100,
  tools: [
    { name: "pay", description: null, approvers: [] },
    { name: "look", description: null, approvers: [] },
  ],
};

describe("content", () => {
  test("ADM-04: what is as coded is compared by what the code says", () => {
    const changes = changesBetween(
      { maxTurns: 3 },
      { toolsOff: ["pay"], autonomy: "always_ask" },
      CODE,
    );

    expect(changes).toEqual([
      {
        field: "autonomy",
        before: "Acts on its own",
        after: "Always asks",
        wasCoded: true,
        isCoded: false,
      },
      { field: "maxTurns", before: "3", after: "100", wasCoded: false, isCoded: true },
      { field: "toolsOff", before: "none", after: "pay", wasCoded: true, isCoded: false },
    ]);
  });

  test("a tool that the code has lost is not taken away once more", () => {
    expect(tidied({ toolsOff: ["gone", "pay"] }, CODE)).toEqual({ toolsOff: ["pay"] });
    expect(tidied({ instructions: "", toolsOff: ["gone"] }, CODE)).toEqual({ instructions: "" });
  });

  test("a field is said or left to the code, and the others stay", () => {
    expect(withField({ model: "a:b" }, "maxTurns", 2)).toEqual({ model: "a:b", maxTurns: 2 });
    expect(withField({ model: "a:b", maxTurns: 2 }, "model", undefined)).toEqual({ maxTurns: 2 });
  });
});

describe("lines", () => {
  const signs = (before: string, after: string) =>
    linesBetween(before, after).map(
      ({ kind, text }) => `${{ same: " ", gone: "-", new: "+" }[kind]}${text}`,
    );

  test("what stayed stays, around what changed", () => {
    expect(signs("a\nb\nc", "a\nB\nc")).toEqual([" a", "-b", "+B", " c"]);
    expect(signs("a\nb", "a\nb")).toEqual([" a", " b"]);
    expect(signs("x\na\ny\nb", "a\nz\nb\nq")).toEqual(["-x", " a", "-y", "+z", " b", "+q"]);
    expect(signs("", "a")).toEqual(["-", "+a"]);
  });

  test("either text can be read out of it, whatever they are", () => {
    const texts = ["", "a", "a\na\nb", "b\na\na", "\n\n", "c\nb\na\nc"];
    for (const before of texts) {
      for (const after of texts) {
        const lines = linesBetween(before, after);
        const without = (kind: string) =>
          lines
            .filter((line) => line.kind !== kind)
            .map(({ text }) => text)
            .join("\n");
        expect([without("new"), without("gone")]).toEqual([before, after]);
      }
    }
  });

  test("long stretches in which nothing changed are left out", () => {
    const long = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    const shown = shortened(linesBetween(long.join("\n"), [...long, "new"].join("\n")), 1);

    expect(shown).toEqual([
      { kind: "skipped", lines: 19 },
      { kind: "same", text: "line 19" },
      { kind: "new", text: "new" },
    ]);
  });
});

test("names are what lines and commas hold, each once", () => {
  expect(namesIn(" ann \n\nbob, ann,")).toEqual(["ann", "bob"]);
  expect(namesIn(" \n ")).toEqual([]);
});

test("the same is said in any order of fields, and no list is another than an empty one", () => {
  expect(same({ a: 1, b: [1] }, { b: [1], a: 1 })).toBe(true);
  expect(same(null, [])).toBe(false);
  expect(same(["a", "b"], ["b", "a"])).toBe(false);
});

test("IMP-17: the audit is read as sentences", () => {
  const deed = (action: string, detail: Readonly<Record<string, unknown>>) =>
    deedOf({ id: 1, at: "", actor: "ann", agent: "desk", action, detail });

  expect(deed("published", { version: 3, fields: ["model", "toolsOff"] })).toBe(
    "published version 3: model, tools taken away",
  );
  expect(deed("restored", { version: 4, from: 1, fields: [] })).toBe(
    "put version 1 in force again, as version 4",
  );
  const lists = { before: { use: null, approve: ["ann"] }, after: { use: [], approve: ["ann"] } };
  expect(deed("lists", lists)).toBe("changed who may use it: no list → nobody");
  expect(deed("approvers", { tool: "pay", before: null, after: ["$owner"] })).toBe(
    "picked who decides pay: as coded → $owner",
  );
  expect(deed("minutes", { before: null, after: 7.5 })).toBe(
    "set the minutes by hand: not said → 7.5",
  );
  expect(deed("knighted", { by: "sword" })).toBe('knighted: {"by":"sword"}');
});

test("the pages of an agent and of governance have addresses", () => {
  expect(placeOf("/admin/agents/desk/configuration")).toEqual({
    page: "agents",
    slug: "desk",
    tab: "configuration",
  });
  expect(placeOf("/admin/agents/desk/other").page).toBe("nowhere");
  expect(placeOf("/admin/governance")).toEqual({ page: "governance", tab: "lists" });
  expect(placeOf("/admin/governance/spend")).toEqual({ page: "governance", tab: "spend" });
  expect(placeOf("/admin/governance/nothing").page).toBe("nowhere");
});

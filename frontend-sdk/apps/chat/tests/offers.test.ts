import { describe, expect, it } from "vitest";
import { aMessage } from "../../../tests/support/builders.js";
import { offersOf } from "../src/branches/offers.js";

const TALK = [
  aMessage({ seq: 1, runId: "r-1", role: "user" }),
  aMessage({ seq: 2, runId: "r-1" }),
  aMessage({ seq: 3, runId: "r-2", role: "user" }),
  aMessage({ seq: 4, runId: "r-2" }),
  aMessage({ seq: 5, runId: "r-2", role: "user", text: "and in rhyme" }),
  aMessage({ seq: 6, runId: "r-2", turn: 1 }),
  aMessage({ seq: 7, runId: "r-2", role: "tool" }),
];

describe("what is offered", () => {
  it("is the newest answer again, and what began a run otherwise; not what was told on the way", () => {
    expect(offersOf(TALK, "completed")).toEqual({ last: "m-6", editable: new Set(["m-1", "m-3"]) });
  });

  it("B30 stays while a person is waited for, and goes while it works", () => {
    expect(offersOf(TALK, "awaiting_input").last).toBe("m-6");
    for (const status of ["queued", "running"] as const) {
      expect(offersOf(TALK, status)).toEqual({ last: undefined, editable: new Set() });
    }
  });

  it("is no new answer where the run failed, which is retried, or where nothing was answered", () => {
    expect(offersOf(TALK, "failed")).toMatchObject({ last: undefined });
    expect(offersOf(TALK.slice(0, 3), "cancelled")).toMatchObject({ last: undefined });
  });

  it("is nothing on what is not stored yet", () => {
    const sent = { ...aMessage({ seq: 1, role: "user" }), optimistic: true as const };

    expect(offersOf([sent], "completed").editable.size).toBe(0);
  });
});

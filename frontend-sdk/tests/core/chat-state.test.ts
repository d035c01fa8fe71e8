import { describe, expect, it } from "vitest";
import { agentState, speaking } from "../../src/core/chat-state.js";
import { applyToken, SILENT } from "../../src/core/live-text.js";
import { aMessage, aThread, aToken } from "../support/builders.js";

const NO_SENDS = { sends: [], failure: undefined };
const SPEAKING = applyToken(SILENT, aToken({ run: "r-2", text: "so" })).live;
const ROWS = [
  aMessage({ seq: 1, role: "user", runId: "r-1" }),
  aMessage({ seq: 2, runId: "r-1" }),
  aMessage({ seq: 3, role: "user", runId: "r-2" }),
];

describe("what is being spoken", () => {
  it.each([
    ["its run is live", aThread({ runId: "r-2", status: "running" }), ROWS, 1],
    ["the thread is not known yet", undefined, undefined, 1],
    [
      "its first token overtook its thread and its row",
      aThread({ runId: "r-1", status: "completed" }),
      ROWS.slice(0, 2),
      1,
    ],
    ["its run is over", aThread({ runId: "r-2", status: "completed" }), ROWS, 0],
    ["its run was cancelled", aThread({ runId: "r-2", status: "cancelled" }), ROWS, 0],
    [
      "the thread has gone on to another run",
      aThread({ runId: "r-3" }),
      [...ROWS, aMessage({ seq: 4, role: "user", runId: "r-3" })],
      0,
    ],
  ])("when %s", (_name, thread, rows, turns) => {
    expect(speaking(SPEAKING, rows, thread)).toHaveLength(turns);
  });
});

describe("the status", () => {
  it.each([
    ["nothing is known", undefined, "loading"],
    ["there is no thread", null, "idle"],
    ["it waits for a person", aThread({ status: "awaiting_input" }), "awaiting_input"],
    ["its run has failed", aThread({ status: "failed" }), "failed"],
  ])("when %s", (_name, thread, status) => {
    expect(agentState(thread, [], NO_SENDS, undefined).status).toBe(status);
  });

  it("says why the last run failed, until the next message is on its way", () => {
    const error = { code: "UNAVAILABLE", message: "the model did not answer" };
    const failed = aThread({ status: "failed", error });
    const send = { dedupe: "d", input: "again", createdAt: "" };

    expect(agentState(failed, [], NO_SENDS, undefined).error).toEqual(error);
    expect(agentState(failed, [], { ...NO_SENDS, sends: [send] }, undefined).error).toBeUndefined();
  });

  it("is that of a run which begins, from asking for a retry until the thread has changed", () => {
    const error = { code: "UNAVAILABLE", message: "the model did not answer" };
    const failed = aThread({ status: "failed", error });
    const asked = { ...NO_SENDS, retrying: failed.updatedAt };
    const again = { ...failed, updatedAt: "2026-11-29T17:34:00Z" };

    expect(agentState(failed, [], asked, undefined)).toMatchObject({
      status: "queued",
      pending: true,
      error: undefined,
    });
    expect(agentState(again, [], asked, undefined)).toMatchObject({ status: "failed", error });
  });
});

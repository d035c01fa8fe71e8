import type { ChatMessage } from "ropewalk";
import { describe, expect, it } from "vitest";
import { stepsOf } from "../src/steps.js";

function row(seq: number, over: Partial<ChatMessage>): ChatMessage {
  return {
    id: `m-${seq}`,
    seq,
    runId: "r-1",
    role: "assistant",
    text: "",
    parts: [],
    status: "complete",
    createdAt: "2026-11-29T17:33:00Z",
    ...over,
  };
}

const CALL = row(2, {
  turn: 0,
  parts: [
    { type: "tool_call", toolCallId: "c-1", name: "weather", input: {} },
    { type: "tool_call", toolCallId: "c-2", name: "order", input: {} },
  ],
});
const result = (seq: number, toolCallId: string, over: Partial<ChatMessage> = {}) =>
  row(seq, { role: "tool", parts: [{ type: "tool_result", toolCallId, name: "x" }], ...over });

describe("steps", () => {
  it("put each result into the card of its call", () => {
    const [user, first, second] = [row(1, { role: "user" }), result(3, "c-1"), result(4, "c-2")];

    const steps = stepsOf([user, CALL, first, second], []);

    expect(steps.map(({ message }) => message.id)).toEqual(["m-1", "m-2"]);
    expect([...(steps[1]?.results ?? [])]).toEqual([
      ["c-1", first],
      ["c-2", second],
    ]);
  });

  it("let a result stand alone whose call is on an older page", () => {
    expect(stepsOf([result(3, "c-1")], []).map(({ message }) => message.id)).toEqual(["m-3"]);
  });

  it("keep apart calls of two runs that a provider gave the same id", () => {
    const again = { ...CALL, id: "m-5", seq: 5, runId: "r-2" };

    const steps = stepsOf([CALL, result(3, "c-1"), again, result(6, "c-1", { runId: "r-2" })], []);

    expect(steps.map(({ results }) => [...results.values()].map(({ id }) => id))).toEqual([
      ["m-3"],
      ["m-6"],
    ]);
  });

  it("stay the same objects until something in them changes", () => {
    const open = result(3, "c-1", { status: "open" });
    const before = stepsOf([row(1, { role: "user" }), CALL, open], []);

    const after = stepsOf(
      [before[0]?.message, CALL, result(3, "c-1")].filter((one) => one !== undefined),
      before,
    );

    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(
      stepsOf(
        after.map(({ message }) => message),
        after,
      )[0],
    ).toBe(before[0]);
  });
});

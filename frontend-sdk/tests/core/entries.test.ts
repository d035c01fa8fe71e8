/** What stands in a conversation: each call with its result, each entry under a key that stays. */

import { describe, expect, it } from "vitest";

import {
  type ChatMessage,
  type Entries,
  entriesOf,
  type LiveTurn,
  type PendingApproval,
} from "../../src/core/index.js";
import { aMessage, anApproval } from "../support/builders.js";

const AT = { runId: "r-1" } as const;

const CALLS = aMessage({
  ...AT,
  seq: 2,
  turn: 0,
  parts: [
    { type: "text", text: "Let me look." },
    { type: "tool_call", toolCallId: "c-1", name: "weather", input: { city: "Oslo" } },
    { type: "tool_call", toolCallId: "c-2", name: "order", input: {} },
  ],
});

function result(seq: number, toolCallId: string, over: Partial<ChatMessage> = {}): ChatMessage {
  const part = { type: "tool_result", toolCallId, name: "x", output: { n: seq } } as const;
  return aMessage({ ...AT, seq, role: "tool", parts: [part], ...over });
}

function entries(messages: readonly ChatMessage[], more: Partial<Entries> = {}) {
  return entriesOf({ messages, live: [], ...more });
}

/** Return the calls of an entry: by name, where each stands. */
function states(messages: readonly ChatMessage[], more: Partial<Entries> = {}) {
  const parts = entries(messages, more).flatMap((entry) => entry.parts);
  return parts.flatMap((part) => (part.type === "call" ? [[part.toolCallId, part.state]] : []));
}

describe("entries", () => {
  it("put each result into its call, and keep what else is said in its place", () => {
    const user = aMessage({ ...AT, seq: 1, role: "user", text: "hello" });

    const [asked, answer, ...none] = entries([user, CALLS, result(3, "c-1"), result(4, "c-2")]);

    expect(none).toEqual([]);
    expect(asked?.message).toBe(user);
    expect(answer?.parts[0]).toBe(CALLS.parts[0]);
    expect(answer?.parts.slice(1)).toMatchObject([
      { type: "call", name: "weather", input: { city: "Oslo" }, answer: { output: { n: 3 } } },
      { type: "call", name: "order", answer: { output: { n: 4 } } },
    ]);
  });

  it("let a result stand alone whose call is on an older page", () => {
    expect(entries([result(3, "c-1")]).map(({ message }) => message?.id)).toEqual(["m-3"]);
  });

  it("keep apart calls of two runs that a provider gave the same id", () => {
    const again = { ...CALLS, id: "m-5", seq: 5, runId: "r-2" };

    const shown = entries([CALLS, result(3, "c-1"), again, result(6, "c-1", { runId: "r-2" })]);

    const answers = shown.map(({ parts }) =>
      parts.flatMap((part) => (part.type === "call" ? [part.result?.id] : [])),
    );
    expect(answers).toEqual([
      ["m-3", undefined],
      ["m-6", undefined],
    ]);
  });

  it("say where a call stands", () => {
    const failed = { type: "tool_result", toolCallId: "c-2", name: "x", isError: true } as const;
    const approval = anApproval({ ...AT, toolCallId: "c-1" });

    expect(states([CALLS, result(3, "c-1", { status: "open" })])).toEqual([
      ["c-1", "running"],
      ["c-2", "running"],
    ]);
    expect(states([CALLS], { pendingApprovals: [approval] })[0]).toEqual(["c-1", "waiting"]);
    const ended = [
      result(3, "c-1", { status: "interrupted" }),
      result(4, "c-2", { parts: [failed] }),
    ];
    expect(states([CALLS, ...ended])).toEqual([
      ["c-1", "interrupted"],
      ["c-2", "failed"],
    ]);
    expect(states([CALLS, result(3, "c-1")])[0]).toEqual(["c-1", "done"]);
  });

  it("have what is written under the key of what will be stored, before what is on its way", () => {
    const parts = [{ part: 0, kind: "tool_args", length: 2, text: '{"' }] as const;
    const turn: LiveTurn = { run: "r-1", turn: 0, attempt: 1, parts };
    const sent: ChatMessage = {
      ...aMessage({ seq: 9, role: "user", dedupe: "d" }),
      optimistic: true,
    };
    const before = aMessage({ ...AT, seq: 1, role: "user" });

    const shown = entries([before, sent], { live: [turn] });

    expect(shown.map(({ message, turn: live }) => message ?? live)).toEqual([before, turn, sent]);
    expect(shown[1]?.parts).toEqual([{ type: "draft", text: '{"' }]);
    expect(shown[1]?.key).toBe(entries([CALLS])[0]?.key);
  });

  it("show what is asked elsewhere after what is stored", () => {
    const child = anApproval({ runId: "r-child", toolCallId: "c-9", key: "child" });

    const shown = entries([CALLS], { pendingApprovals: [child] });

    expect(shown[1]).toMatchObject({ key: child.id, asked: child });
    expect(shown[1]?.parts).toMatchObject([{ type: "call", state: "waiting", approval: child }]);
  });

  it("stay the same objects until something in them changes", () => {
    const user = aMessage({ ...AT, seq: 1, role: "user" });
    const open = result(3, "c-1", { status: "open" });
    const approvals: readonly PendingApproval[] = [];
    const before = entries([user, CALLS, open], { pendingApprovals: approvals });

    const after = entries([user, CALLS, result(3, "c-1")], { pendingApprovals: approvals });

    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    expect(entries([user, CALLS, open])[0]).toBe(before[0]);
  });
});

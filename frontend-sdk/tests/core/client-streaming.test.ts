/** A run as a client sees it, over a real socket. */

import { describe, expect, it } from "vitest";
import { createChat } from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import type { TestGateway } from "../support/gateway.js";
import { api, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";

/** A run with a tool, in the order in which a gateway tells of it. */
function playRun(gateway: TestGateway, dedupe: string | undefined, input: string): void {
  const at = { runId: "r-1" };
  const user = aMessage({ seq: 1, role: "user", text: input, ...at, ...(dedupe && { dedupe }) });
  gateway.commit(KEY, [user], aThread({ status: "queued" }));
  gateway.commit(KEY, [], aThread({ status: "running" }));
  gateway.token(KEY, {
    run: "r-1",
    turn: 0,
    part: 0,
    kind: "text",
    offset: 0,
    text: "Let me ",
    attempt: 100,
  });
  gateway.token(KEY, {
    run: "r-1",
    turn: 0,
    part: 0,
    kind: "text",
    offset: 7,
    text: "look.",
    attempt: 100,
  });
  const call = {
    type: "tool_call",
    toolCallId: "c-1",
    name: "weather",
    input: { city: "Oslo" },
  } as const;
  gateway.commit(KEY, [
    aMessage({
      seq: 2,
      text: "Let me look.",
      parts: [{ type: "text", text: "Let me look." }, call],
      ...at,
    }),
    aMessage({
      seq: 3,
      role: "tool",
      status: "open",
      text: "",
      parts: [{ type: "tool_result", toolCallId: "c-1", name: "weather" }],
      ...at,
    }),
  ]);
  gateway.commit(KEY, [
    aMessage({
      seq: 3,
      role: "tool",
      text: "7",
      parts: [
        { type: "tool_result", toolCallId: "c-1", name: "weather", output: 7, isError: false },
      ],
      ...at,
    }),
  ]);
  gateway.token(KEY, {
    run: "r-1",
    turn: 1,
    part: 0,
    kind: "text",
    offset: 0,
    text: "Seven ",
    attempt: 100,
  });
  gateway.commit(
    KEY,
    [aMessage({ seq: 4, turn: 1, text: "Seven degrees.", ...at })],
    aThread({ status: "completed" }),
  );
}

describe("a run", () => {
  it("SUB-01 SUB-02 SDK-04 SDK-06 SDK-10 is told step by step, and no step ever stands twice", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", ({ input }, { dedupe }) => {
      playRun(gateway, dedupe, input as string);
      return { id: "r-1" };
    });
    const chat = createChat(connect(gateway), KEY);
    const { frames } = record(chat);
    await waitUntil(() => chat.state.get().status === "idle", "the thread is known");

    await chat.send(CALLS, "What's the weather?");
    await waitUntil(() => chat.state.get().status === "completed", "the run is over");

    expect(chat.state.get().messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "What's the weather?"],
      ["assistant", "Let me look."],
      ["tool", "7"],
      ["assistant", "Seven degrees."],
    ]);
    expect(chat.state.get()).toMatchObject({ live: [], streamingText: "", pending: false });
    const statuses = frames
      .map(({ status }) => status)
      .filter((one, at, all) => one !== all[at - 1]);
    expect(statuses).toEqual(["loading", "idle", "queued", "running", "completed"]);
    for (const { messages, live } of frames) {
      const turns = messages.flatMap((one) =>
        one.role === "assistant" ? [`${one.runId}:${one.turn}`] : [],
      );
      const steps = [...turns, ...live.map((one) => `${one.run}:${one.turn}`)];
      expect(new Set(steps).size).toBe(steps.length);
      expect(new Set(messages.map((one) => one.id)).size).toBe(messages.length);
      expect(messages.filter((one) => one.role === "user").length).toBeLessThanOrEqual(1);
    }
  });

  it("SDK-06 the stored message replaces the sent one in one step: never both, never neither", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", async ({ input }, { dedupe }) => {
      gateway.commit(
        KEY,
        [aMessage({ seq: 1, role: "user", text: input as string, ...(dedupe && { dedupe }) })],
        aThread(),
      );
      return { id: "r-1" };
    });
    const chat = createChat(connect(gateway), KEY);
    const { frames } = record(chat);

    await chat.send(CALLS, "hello");
    await waitUntil(() => chat.state.get().messages[0]?.id === "m-1", "the message is stored");

    const sent = frames.slice(frames.findIndex(({ messages }) => messages.length > 0));
    expect(sent.map(({ messages }) => messages.length).every((count) => count === 1)).toBe(true);
    expect(sent[0]?.messages[0]).toMatchObject({ text: "hello", optimistic: true });
    expect(sent.at(-1)?.messages[0]?.optimistic).toBeUndefined();
  });

  it("SDK-06 takes the message back when the call fails, and says why", async () => {
    const gateway = await startGateway();
    const chat = createChat(connect(gateway), KEY);
    record(chat);

    await expect(chat.send(CALLS, "hello")).rejects.toMatchObject({ code: "NOT_FOUND" });

    expect(chat.state.get().messages).toEqual([]);
    expect(chat.state.get().error).toMatchObject({ code: "NOT_FOUND" });
    chat.dismissError();
    expect(chat.state.get().error).toBeUndefined();
  });

  it("SDK-02 B100 sends the input and the thread's key over all other arguments, and no history", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", () => ({ id: "r-1" }));
    const chat = createChat(connect(gateway), KEY);
    const runArgs = { mode: "careful", input: "mine", threadKey: "other" };

    await chat.send({ ...CALLS, runArgs }, "hello", { mode: "quick" });

    expect(gateway.got("call")[0]?.args).toEqual({ mode: "quick", input: "hello", threadKey: KEY });
  });

  it("calls a built-in with `key`, as built-ins have it", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("agents:agentRun", () => ({ id: "r-1", key: KEY }));
    const chat = createChat(connect(gateway), KEY);

    await chat.send({ run: api.agents.agentRun, runArgs: { agent: "support" } }, "hello");

    expect(gateway.got("call")[0]?.args).toEqual({ agent: "support", input: "hello", key: KEY });
  });

  it("B48 SUB-07 joins in the middle with the text so far, and goes on from there", async () => {
    const gateway = await startGateway();
    const user = aMessage({ seq: 1, role: "user" });
    gateway.commit(KEY, [user], aThread());
    const said = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
    gateway.token(KEY, { ...said, offset: 0, text: "Once upon" });

    const chat = createChat(connect(gateway), KEY);
    record(chat);
    await waitUntil(
      () => chat.state.get().streamingText === "Once upon",
      "the text so far is there",
    );
    gateway.token(KEY, { ...said, offset: 9, text: " a time" });
    await waitUntil(() => chat.state.get().streamingText === "Once upon a time", "it goes on");
    gateway.commit(
      KEY,
      [aMessage({ seq: 2, text: "Once upon a time." })],
      aThread({ status: "completed" }),
    );
    await waitUntil(() => chat.state.get().messages.length === 2, "the message is there");

    expect(chat.state.get()).toMatchObject({ streamingText: "", live: [], status: "completed" });
  });

  it("is not an empty chat for the moment between the thread and its messages", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1 })], aThread({ status: "completed" }));
    const chat = createChat(connect(gateway), KEY);
    const { frames } = record(chat);

    await waitUntil(() => chat.state.get().status === "completed", "all is known");

    const rested = frames.filter(({ status }) => status !== "loading");
    expect(rested.every(({ messages }) => messages.length === 1)).toBe(true);
  });

  it("SUB-06 SUB-08 without streaming shows the same messages and asks for no tokens", async () => {
    const gateway = await startGateway();
    const chat = createChat(connect(gateway), KEY, { stream: false });
    const { frames } = record(chat);
    await waitUntil(() => chat.state.get().status === "idle", "the thread is known");

    playRun(gateway, undefined, "hi");
    await waitUntil(() => chat.state.get().status === "completed", "the run is over");

    expect(gateway.subscriptions).toContain('agents:agentMessages{"key":"t-1","stream":false}');
    expect(frames.every(({ streamingText }) => streamingText === "")).toBe(true);
    expect(chat.state.get().messages.map(({ text }) => text)).toEqual([
      "hi",
      "Let me look.",
      "7",
      "Seven degrees.",
    ]);
  });

  it("asks for the text so far when a piece was lost, once", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1, role: "user" })], aThread());
    const chat = createChat(connect(gateway), KEY);
    record(chat);
    await waitUntil(() => chat.state.get().status === "running", "the thread is known");
    const said = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
    gateway.token(KEY, { ...said, offset: 0, text: "abc" });
    await waitUntil(() => chat.state.get().streamingText === "abc", "the first piece is there");

    gateway.raw(KEY, (id) => ({ type: "token", id, ...said, offset: 6, text: "ghi" }));
    gateway.raw(KEY, (id) => ({ type: "token", id, ...said, offset: 9, text: "jkl" }));
    await waitUntil(() => gateway.got("subscribe").length === 3, "it has asked");
    gateway.token(KEY, { ...said, offset: 0, text: "abcdefghijkl" });

    await waitUntil(() => chat.state.get().streamingText === "abcdefghijkl", "the text is whole");
    expect(gateway.got("subscribe")).toHaveLength(3);
  });

  it.each([
    ["from the beginning", 0],
    ["from the middle", 6],
    ["from a history that reaches back no more", 1000],
  ])("B41 shows exactly the one card that is open, after a cut and %s", async (_name, missed) => {
    const gateway = await startGateway();
    const call = (index: number) =>
      aMessage({
        seq: index + 1,
        turn: index,
        parts: [{ type: "tool_call", toolCallId: `c-${index}`, name: "refund", input: {} }],
      });
    const card = {
      id: "a-5",
      toolCallId: "c-5",
      name: "refund",
      input: {},
      key: KEY,
      agent: "support",
      runId: "r-1",
      inputHash: "h-1",
      editable: false,
      approvers: [],
      requestedAt: "2026-11-29T17:33:00Z",
    };
    gateway.commit(KEY, [0, 1, 2, 3, 4].map(call), aThread());
    const chat = createChat(connect(gateway, { speed: 20 }), KEY);
    const { frames } = record(chat);
    await waitUntil(() => chat.state.get().messages.length === 5, "the decided ones are there");

    gateway.cut();
    if (missed === 1000) gateway.timeline = "7311-2";
    const known = missed === 6 ? [] : [0, 1, 2, 3, 4].map(call);
    gateway.commit(
      KEY,
      [...known, call(5)],
      aThread({ status: "awaiting_input", pendingApprovals: [card] }),
    );
    await waitUntil(() => chat.state.get().pendingApprovals.length === 1, "the card is there");
    await waitUntil(() => chat.state.get().messages.length === 6, "its call is there");

    expect(chat.state.get().pendingApprovals).toEqual([card]);
    expect(frames.every(({ pendingApprovals }) => pendingApprovals.length <= 1)).toBe(true);
  });
});

/** Cancelling, deciding, paging: what a person does to a thread. */

import { describe, expect, it } from "vitest";
import { type Chat, createChat, type PendingApproval } from "../../src/core/index.js";
import { aMessage, anApproval, aThread } from "../support/builders.js";
import type { TestGateway } from "../support/gateway.js";
import { api, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const CANCEL = api.chat.cancelRun;

function cancels(gateway: TestGateway): unknown[] {
  return gateway
    .got("call")
    .filter(({ fn }) => fn === CANCEL)
    .map(({ args }) => args);
}

async function watched(gateway: TestGateway) {
  gateway.handlers.set(CANCEL, () => ({ cancelled: true }));
  const chat = createChat(connect(gateway), KEY);
  record(chat);
  await waitUntil(() => chat.state.get().status !== "loading", "the thread is known");
  return chat;
}

describe("cancel", () => {
  it("SDK-03 B43 stops the run that is seen, by its name", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [], aThread({ runId: "r-7", status: "running" }));
    const chat = await watched(gateway);

    await chat.cancel(CANCEL);

    expect(cancels(gateway)).toEqual([{ threadKey: KEY, runId: "r-7" }]);
  });

  it("SDK-03 stops a run that waits for a person", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [], aThread({ runId: "r-7", status: "awaiting_input" }));
    const chat = await watched(gateway);

    await chat.cancel(CANCEL);

    expect(cancels(gateway)).toHaveLength(1);
  });

  it("SDK-03 does nothing when nothing runs, and nothing without a reference", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [], aThread({ status: "completed" }));
    const chat = await watched(gateway);

    await chat.cancel(CANCEL);
    gateway.commit(KEY, [], aThread({ status: "running" }));
    await waitUntil(() => chat.state.get().status === "running", "a run is seen");
    await chat.cancel(undefined);

    expect(gateway.got("call")).toEqual([]);
  });

  it("SDK-03 says `key` to the built-in", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("agents:agentCancel", () => ({ cancelled: true }));
    gateway.commit(KEY, [], aThread({ runId: "r-7" }));
    const chat = await watched(gateway);

    await chat.cancel(api.agents.agentCancel);

    expect(gateway.got("call")[0]?.args).toEqual({ key: KEY, runId: "r-7" });
  });

  it("B44 stops a run that has no name yet as soon as it has one", async () => {
    const gateway = await startGateway();
    let answer = (_: unknown) => {};
    gateway.handlers.set(
      CALLS.run,
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const chat = await watched(gateway);
    const sent = chat.send(CALLS, "hello");
    await waitUntil(() => gateway.got("call").length === 1, "the send is on its way");

    const cancelled = chat.cancel(CANCEL);
    answer({ id: "r-9" });
    await Promise.all([sent, cancelled]);

    expect(cancels(gateway)).toEqual([{ threadKey: KEY, runId: "r-9" }]);
  });

  it("does not take back a message because its run could not be cancelled", async () => {
    const gateway = await startGateway();
    gateway.handlers.set(CALLS.run, async ({ input }, { dedupe }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const row = aMessage({ seq: 1, role: "user", text: input as string });
      gateway.commit(KEY, [{ ...row, ...(dedupe && { dedupe }) }], aThread());
      return { id: "r-1" };
    });
    const chat = await watched(gateway);
    gateway.handlers.delete(CANCEL);
    const sent = chat.send(CALLS, "hello");
    await waitUntil(() => gateway.got("call").length === 1, "the send is on its way");

    await expect(chat.cancel(CANCEL)).rejects.toMatchObject({ code: "NOT_FOUND" });

    await expect(sent).resolves.toEqual({ id: "r-1" });
    await waitUntil(() => chat.state.get().messages[0]?.id === "m-1", "the message is stored");
    expect(chat.state.get().error).toBeUndefined();
  });

  it("B44 takes back a send that has not left, and nothing is busy after it", async () => {
    const gateway = await startGateway();
    const chat = await watched(gateway);
    await gateway.stop();
    await waitUntil(() => gateway.lines.size === 0, "the line is cut");
    const sent = chat.send(CALLS, "hello").catch((error) => error);

    await chat.cancel(CANCEL);

    expect(await sent).toMatchObject({ code: "CANCELLED" });
    expect(chat.state.get()).toMatchObject({
      messages: [],
      status: "idle",
      pending: false,
      error: undefined,
    });
  });

  it("B44 a hundred stops around the first token leave nothing busy", async () => {
    const gateway = await startGateway();
    let runs = 0;
    gateway.handlers.set(CALLS.run, ({ input }, { dedupe }) => {
      runs += 1;
      const runId = `r-${runs}`;
      const row = aMessage({
        seq: runs,
        id: runId,
        runId,
        role: "user",
        text: input as string,
        ...(dedupe && { dedupe }),
      });
      gateway.commit(KEY, [row], aThread({ runId, status: "queued" }));
      gateway.commit(KEY, [], aThread({ runId, status: "running" }));
      gateway.token(KEY, {
        run: runId,
        turn: 0,
        part: 0,
        kind: "text",
        offset: 0,
        text: "So",
        attempt: 100,
      });
      return { id: runId };
    });
    const chat = await watched(gateway);
    gateway.handlers.set(CANCEL, ({ runId }) => {
      gateway.commit(KEY, [], aThread({ runId: runId as string, status: "cancelled" }));
      return { cancelled: true };
    });

    for (let round = 0; round < 100; round += 1) {
      const sent = chat.send(CALLS, `round ${round}`);
      if (round % 3 > 0) await new Promise((resolve) => setTimeout(resolve, round % 3));
      await Promise.all([sent, chat.cancel(CANCEL)]);
      await waitUntil(() => chat.state.get().status === "cancelled", `round ${round} is cancelled`);
    }

    expect(cancels(gateway)).toHaveLength(100);
    expect(chat.state.get()).toMatchObject({ live: [], streamingText: "", pending: false });
    expect(chat.state.get().messages).toHaveLength(100);
  });
});

describe("a decision", () => {
  it("SDK-07 names the thread and the call, and the chat waits meanwhile", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("agents:agentResolveApproval", () => ({
      approvalId: "a-1",
      decision: "approved",
    }));
    const approval = anApproval({ id: "a-1" });
    gateway.commit(KEY, [], aThread({ status: "awaiting_input", pendingApprovals: [approval] }));
    const chat = await watched(gateway);

    expect(chat.state.get()).toMatchObject({
      status: "awaiting_input",
      pendingApprovals: [approval],
    });
    await chat.approve("c-1");
    await chat.reject("c-2", "too much");

    expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([
      [
        "agents:agentResolveApproval",
        { key: KEY, toolCallId: "c-1", decision: "approved", inputHash: "h-1" },
      ],
      [
        "agents:agentResolveApproval",
        { key: KEY, toolCallId: "c-2", decision: "denied", reason: "too much" },
      ],
    ]);
  });
});

describe("a decision in a chat", () => {
  const decided = async (
    pendingApprovals: readonly PendingApproval[],
    decide: (chat: Chat) => Promise<void>,
  ) => {
    const gateway = await startGateway();
    gateway.handlers.set("agents:agentResolveApproval", () => ({}));
    gateway.commit(KEY, [], aThread({ status: "awaiting_input", pendingApprovals }));
    await decide(await watched(gateway));
    return gateway.got("call").map(({ args }) => args);
  };

  it("B39 on a call of a child goes to the conversation that asks", async () => {
    const child = anApproval({ key: "child", toolCallId: "c-9", inputHash: "h-9" });

    expect(await decided([child], (chat) => chat.approve("c-9"))).toEqual([
      { key: "child", toolCallId: "c-9", decision: "approved", inputHash: "h-9" },
    ]);
  });

  it("means our own call where a child's has the same id, and the child's when that is handed in", async () => {
    const child = anApproval({ id: "a-2", key: "child", inputHash: "h-2" });
    const ours = anApproval({ id: "a-1" });

    const calls = await decided([child, ours], async (chat) => {
      await chat.approve("c-1");
      await chat.reject(child, "no");
    });

    expect(calls).toEqual([
      { key: KEY, toolCallId: "c-1", decision: "approved", inputHash: "h-1" },
      { key: "child", toolCallId: "c-1", decision: "denied", inputHash: "h-2", reason: "no" },
    ]);
  });

  it.each([{ on: false }, { count: 0 }, { text: "" }, {}])(
    "SDK-07 sends an edit as it is given: %j",
    async (input) => {
      expect(await decided([anApproval()], (chat) => chat.edit("c-1", input))).toMatchObject([
        { toolCallId: "c-1", decision: "approved", editedInput: input, inputHash: "h-1" },
      ]);
    },
  );
});

describe("older messages", () => {
  it("are loaded page by page, in front, until the beginning", async () => {
    const gateway = await startGateway();
    const rows = Array.from({ length: 120 }, (_, index) => aMessage({ seq: index + 1 }));
    gateway.commit(KEY, rows, aThread({ status: "completed" }));
    const chat = await watched(gateway);
    await waitUntil(() => chat.state.get().messages.length === 50, "the newest page is there");
    expect(chat.state.get().hasOlder).toBe(true);

    await Promise.all([chat.loadOlder(), chat.loadOlder()]);
    expect(chat.state.get().messages).toHaveLength(100);
    await chat.loadOlder();
    await chat.loadOlder();

    expect(chat.state.get().messages.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq));
    expect(chat.state.get()).toMatchObject({ hasOlder: false, loadingOlder: false });
    expect(gateway.got("call")).toHaveLength(2);
  });
});

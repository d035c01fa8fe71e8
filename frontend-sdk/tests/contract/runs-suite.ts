/** What every adapter's chat promises of runs that wait for one another, and of one that failed. */

import { describe, expect, it } from "vitest";
import type { ChatState, ThreadView, WaitingSend } from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { Refusal } from "../support/gateway.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import type { Adapter } from "./suite.js";

const KEY = "t-1";

export function runsContract(adapter: Adapter): void {
  describe(`${adapter.name}: a busy thread`, () => {
    const AT = "2026-11-29T17:33:00Z";
    const waits = (over: Partial<WaitingSend>): WaitingSend => ({
      id: "r-2",
      kind: "run",
      text: "and then?",
      position: 1,
      createdAt: AT,
      ...over,
    });
    const ours = (chat: ChatState) => chat.messages.filter(({ text }) => text === "and then?");

    it.each([
      ["CON-04 queued", { id: "r-2", position: 1 }, "run", "r-2"],
      ["CON-07 steered", { id: "r-1", steered: true }, "signal", "s-1"],
      ["queued by a function that says so only on the thread", { id: "r-2" }, "run", "r-2"],
      ["steered by a function that says nothing", {}, "signal", "s-1"],
    ] as const)(
      "SDK-06 a send that is %s is one bubble at every frame, and no error",
      async (_name, answer, kind, id) => {
        const gateway = await startGateway();
        const busy = aThread({ status: "running" });
        gateway.commit(KEY, [aMessage({ seq: 1, role: "user", text: "go" })], busy);
        let dedupe = "";
        gateway.handlers.set("chat:startRun", (_args, call) => {
          dedupe = call.dedupe ?? "";
          gateway.commit(KEY, [], { ...busy, waiting: [waits({ id, kind, dedupe })] });
          return answer;
        });
        const chat = adapter.chat(connect(gateway), { threadKey: KEY });
        await waitUntil(() => chat.now().messages.length === 1, "the thread is known");

        const sent = chat.now().send("and then?");
        await waitUntil(() => ours(chat.now())[0]?.waiting?.position === 1, "it waits");
        await sent;
        expect(chat.now()).toMatchObject({ status: "running", pending: false, error: undefined });
        gateway.commit(KEY, [aMessage({ seq: 2, text: "done" })]);
        const row = { seq: 3, role: "user", text: "and then?", dedupe } as const;
        const runId = kind === "run" ? id : "r-1";
        gateway.commit(
          KEY,
          [aMessage({ ...row, runId, ...(kind === "signal" && { id }) })],
          aThread({ runId }),
        );
        await waitUntil(() => ours(chat.now())[0]?.optimistic === undefined, "it is stored");

        const from = chat.frames.findIndex(({ value }) => ours(value).length > 0);
        const counts = chat.frames.slice(from).map(({ value }) => ours(value).length);
        expect(new Set(counts)).toEqual(new Set([1]));
      },
    );

    it("SUB-04 CON-04 shows what others have waiting, in its order, and lets it go", async () => {
      const gateway = await startGateway();
      const waiting = [waits({}), waits({ id: "r-3", text: "and more", position: 2 })];
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread({ waiting }));
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().messages.length === 3, "both are on show");

      expect(chat.now().messages.map(({ text }) => text)).toEqual([
        "message 1",
        "and then?",
        "and more",
      ]);
      gateway.commit(KEY, [], aThread());
      await waitUntil(() => chat.now().messages.length === 1, "both were withdrawn");
    });

    it("CON-04 a send of ours that was withdrawn elsewhere does not stay for ever", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
      gateway.handlers.set("chat:startRun", (_args, { dedupe = "" }) => {
        gateway.commit(KEY, [], aThread({ waiting: [waits({ dedupe })] }));
        return { id: "r-2", position: 1 };
      });
      const chat = adapter.chat(connect(gateway, { speed: 50 }), { threadKey: KEY });
      await waitUntil(() => chat.now().messages.length === 1, "the thread is known");
      await chat.now().send("and then?");
      await waitUntil(() => ours(chat.now())[0]?.waiting !== undefined, "it waits");

      gateway.commit(KEY, [], aThread());

      await waitUntil(() => chat.now().messages.length === 1, "it is gone");
    });

    it("CON-02 a send that the thread refuses is taken back, and says why", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
      gateway.handlers.set("chat:startRun", () => {
        throw new Refusal("CONFLICT", "the thread has an unfinished run");
      });
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "running", "the thread is known");

      await expect(chat.now().send("and then?")).rejects.toMatchObject({ code: "CONFLICT" });

      expect(ours(chat.now())).toEqual([]);
      expect(chat.now()).toMatchObject({ status: "running", error: { code: "CONFLICT" } });
    });

    it("SDK-03 cancel stops the run that is on show, not the send that waits behind it", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
      gateway.handlers.set("chat:startRun", () => ({ id: "r-2", position: 1 }));
      gateway.handlers.set("chat:cancelRun", () => ({ cancelled: true }));
      const chat = adapter.chat(connect(gateway), { threadKey: KEY, withCancel: true });
      await waitUntil(() => chat.now().status === "running", "the thread is known");

      await chat.now().send("and then?");
      await chat.now().cancel();

      expect(gateway.got("call").at(-1)?.args).toEqual({ threadKey: KEY, runId: "r-1" });
    });
  });

  describe(`${adapter.name}: a run that failed`, () => {
    const error = { code: "UNAVAILABLE", message: "the model did not answer" };
    const failed: ThreadView = aThread({ status: "failed", runId: "r-7", error });
    const rows = [
      aMessage({ seq: 1, role: "user", text: "go", runId: "r-7" }),
      aMessage({ seq: 2, text: "I beg", status: "interrupted", runId: "r-7" }),
    ];

    it("B46 goes on from where it failed, with nothing sent anew and its text kept", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, rows, failed);
      gateway.handlers.set("agents:agentRetry", () => {
        const at = { runId: "r-7", updatedAt: "2026-11-29T17:34:00Z" };
        gateway.commit(KEY, [], aThread({ ...at, status: "queued" }));
        const said = { run: "r-7", turn: 0, part: 0, kind: "text", attempt: 300 } as const;
        gateway.token(KEY, { ...said, offset: 0, text: "I begin" });
        return { retried: true };
      });
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "failed", "the thread is known");
      expect(chat.now().error).toEqual(error);

      await chat.now().retry();
      await waitUntil(() => chat.now().streamingText === "I begin", "it is spoken again");

      expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([
        ["agents:agentRetry", { key: KEY, runId: "r-7" }],
      ]);
      expect(chat.now()).toMatchObject({ status: "queued", pending: false, error: undefined });
      expect(chat.now().messages.map(({ text }) => text)).toEqual(["go", "I beg"]);
    });

    it("says that it is asked to, once, and shows that it failed again", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, rows, failed);
      gateway.handlers.set("agents:agentRetry", () => {
        gateway.commit(KEY, [], { ...failed, updatedAt: "2026-11-29T17:34:00Z" });
        return { retried: true };
      });
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "failed", "the thread is known");

      const first = chat.now().retry();
      await Promise.all([first, chat.now().retry()]);
      await waitUntil(() => chat.now().status === "failed", "it has failed again");

      expect(gateway.got("call")).toHaveLength(1);
      expect(chat.now()).toMatchObject({ pending: false, error });
      expect(
        chat.frames.some(({ value }) => value.status === "queued" && value.error === undefined),
      ).toBe(true);
    });

    it("a retry that is refused says why, and the run is a failed one still", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, rows, failed);
      gateway.handlers.set("agents:agentRetry", () => {
        throw new Refusal("CONFLICT", "another run came after it");
      });
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "failed", "the thread is known");

      await expect(chat.now().retry()).rejects.toMatchObject({ code: "CONFLICT" });

      expect(chat.now()).toMatchObject({ status: "failed", error: { code: "CONFLICT" } });
    });

    it("a run that did not fail is not retried", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, rows, aThread({ status: "completed" }));
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "completed", "the thread is known");

      await chat.now().retry();

      expect(gateway.got("call")).toEqual([]);
    });
  });
}

/**
 * What every adapter promises, whatever the framework: the same suite runs over each.
 *
 * An adapter is driven through `mount`, in its own renderer; `frames` holds what the hook
 * gave at each render, with the options it was given.
 */

import { describe, expect, it } from "vitest";
import type {
  AgentState,
  AgentStateView,
  ChatClient,
  ChatState,
  ForkOptions,
  SubscriptionView,
} from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { Conversation } from "../support/conversation.js";
import { api, bubbles, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { runsContract } from "./runs-suite.js";

export interface Options {
  readonly threadKey: string;
  readonly stream?: boolean;
  readonly runArgs?: { readonly mode?: string };
  readonly withCancel?: boolean;
}

export type AnyChat = ChatState & {
  readonly send: (input: string, args?: { mode?: string }) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
  readonly approve: (toolCallId: string) => Promise<void>;
  readonly reject: (toolCallId: string, reason?: string) => Promise<void>;
  readonly retry: () => Promise<void>;
  readonly regenerate: (messageId?: string) => Promise<string>;
  readonly editMessage: (messageId: string, text: string) => Promise<string>;
  readonly selectBranch: (key: string) => Promise<void>;
  readonly fork: (messageId?: string, options?: ForkOptions) => Promise<string>;
};
export type AnyAgent = AgentState & {
  readonly run: (input: string, args?: { mode?: string }) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
};

export interface Mounted<T, Given = Options> {
  readonly frames: { readonly options: Given; readonly value: T }[];
  readonly now: () => T;
  /** Render again with other options. */
  readonly show: (options: Given) => void;
  readonly unmount: () => void;
}

export interface Adapter {
  readonly name: string;
  readonly chat: (client: ChatClient, options: Options) => Mounted<AnyChat>;
  readonly agent: (client: ChatClient, options: Options) => Mounted<AnyAgent>;
  readonly state: (client: ChatClient, options: Options) => Mounted<AgentStateView<unknown>>;
  readonly messages: (client: ChatClient, options: Options) => Mounted<SubscriptionView<unknown>>;
  readonly connection: (client: ChatClient, options: Options) => Mounted<{ readonly name: string }>;
}

const KEY = "t-1";

export function contract(adapter: Adapter): void {
  runsContract(adapter);

  describe(`${adapter.name}: a chat`, () => {
    it("SDK-05 gives what a chat needs", async () => {
      const gateway = await startGateway();
      const chat = adapter.chat(connect(gateway), { threadKey: KEY }).now();

      expect(Object.keys(chat)).toEqual(
        expect.arrayContaining([
          "send",
          "approve",
          "reject",
          "cancel",
          "retry",
          "messages",
          "status",
          "streamingText",
        ]),
      );
    });

    it("gives a first value at once, then each change", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      expect(chat.now()).toMatchObject({ status: "loading", messages: [] });

      await waitUntil(() => chat.now().status === "running", "the thread is known");
      gateway.commit(
        KEY,
        [aMessage({ seq: 2 })],
        aThread({ status: "completed", title: "Greetings" }),
      );

      await waitUntil(() => chat.now().thread?.title === "Greetings", "the change is seen");
      expect(chat.now().messages).toHaveLength(2);
    });

    it("SDK-06 SDK-10 shows a send at once, then the text as it grows, then the message", async () => {
      const gateway = await startGateway();
      const said = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
      gateway.handlers.set("chat:startRun", ({ input }, { dedupe }) => {
        const row = aMessage({
          seq: 1,
          role: "user",
          text: input as string,
          ...(dedupe && { dedupe }),
        });
        gateway.commit(KEY, [row], aThread({ status: "running" }));
        gateway.token(KEY, { ...said, offset: 0, text: "Hel" });
        return { id: "r-1" };
      });
      const chat = adapter.chat(connect(gateway), { threadKey: KEY, stream: true });
      await waitUntil(() => chat.now().status === "idle", "the thread is known");

      const sent = chat.now().send("hello");
      await waitUntil(() => chat.now().messages.length === 1, "the send is on show");
      await sent;
      await waitUntil(() => chat.now().streamingText === "Hel", "text is on show");
      gateway.token(KEY, { ...said, offset: 3, text: "lo!" });
      await waitUntil(() => chat.now().streamingText === "Hello!", "it grows");
      gateway.commit(KEY, [aMessage({ seq: 2, text: "Hello!" })], aThread({ status: "completed" }));
      await waitUntil(() => chat.now().status === "completed", "the run is over");

      expect(chat.now()).toMatchObject({ streamingText: "", pending: false });
      for (const { value } of chat.frames) {
        expect(value.messages.filter(({ role }) => role === "user").length).toBeLessThanOrEqual(1);
        const answers =
          value.messages.filter(({ role }) => role === "assistant").length + value.live.length;
        expect(answers).toBeLessThanOrEqual(1);
      }
    });

    it("B51 never shows two entries for one step through text, tool, approval and text", async () => {
      const gateway = await startGateway();
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "idle", "the thread is known");

      gateway.commit(KEY, [aMessage({ seq: 1, role: "user", text: "go" })], aThread());
      for (let turn = 0; turn < 4; turn += 1) {
        const text = `turn ${turn}`;
        for (const [offset, letter] of [...text].entries()) {
          gateway.token(KEY, {
            run: "r-1",
            turn,
            part: 0,
            kind: "text",
            offset,
            text: letter,
            attempt: 100,
          });
        }
        gateway.commit(
          KEY,
          [
            aMessage({ seq: turn * 2 + 2, turn, text }),
            aMessage({ seq: turn * 2 + 3, turn, role: "tool", status: "open", text: "" }),
          ],
          aThread({ status: "awaiting_input" }),
        );
        gateway.commit(
          KEY,
          [aMessage({ seq: turn * 2 + 3, turn, role: "tool", text: "done" })],
          aThread(),
        );
        await waitUntil(
          () => chat.now().messages.length === turn * 2 + 3,
          `turn ${turn} is on show`,
        );
      }

      for (const { value } of chat.frames) {
        const turns = value.messages.flatMap((one) => (one.role === "assistant" ? [one.turn] : []));
        const steps = [...turns, ...value.live.map(({ turn }) => turn)];
        expect(new Set(steps).size, bubbles(value).join(" | ")).toBe(steps.length);
      }
    });

    it("B96 never shows one thread's data under another's key, for not a single frame", async () => {
      const gateway = await startGateway();
      for (const key of ["a", "b", "c"]) {
        gateway.commit(key, [aMessage({ seq: 1, text: key })], aThread({ key }));
      }
      const chat = adapter.chat(connect(gateway), { threadKey: "a" });
      await waitUntil(() => chat.now().messages.length === 1, "the first is there");

      for (const key of ["b", "a", "new", "c", "a", "b"]) {
        chat.show({ threadKey: key });
        for (const [index, other] of ["a", "b", "c"].entries()) {
          gateway.token(other, {
            run: "r-1",
            turn: 1,
            part: 0,
            kind: "text",
            offset: 0,
            text: other,
            attempt: 100 + index,
          });
        }
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      await waitUntil(() => chat.now().streamingText === "b", "the last is streaming");

      for (const { options, value } of chat.frames) {
        const seen = [
          value.thread?.key,
          value.streamingText,
          ...value.messages.map(({ text }) => text),
        ];
        expect([options.threadKey, undefined, null, ""]).toEqual(expect.arrayContaining(seen));
      }
    });

    it("SDK-02 SDK-03 SDK-07 calls what it was given, with what it was given last", async () => {
      const gateway = await startGateway();
      gateway.handlers.set("chat:startRun", () => ({ id: "r-1" }));
      gateway.handlers.set("chat:cancelRun", () => ({ cancelled: true }));
      gateway.handlers.set("agents:agentResolveApproval", () => ({}));
      gateway.commit(KEY, [], aThread({ status: "awaiting_input" }));
      const chat = adapter.chat(connect(gateway), { threadKey: KEY, runArgs: { mode: "slow" } });
      await waitUntil(() => chat.now().status === "awaiting_input", "the thread is known");
      chat.show({ threadKey: KEY, runArgs: { mode: "quick" }, withCancel: true });

      await chat.now().send("hello");
      await chat.now().approve("c-1");
      await chat.now().reject("c-2", "no");
      await chat.now().cancel();

      expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([
        ["chat:startRun", { input: "hello", threadKey: KEY, mode: "quick" }],
        ["agents:agentResolveApproval", { key: KEY, toolCallId: "c-1", decision: "approved" }],
        [
          "agents:agentResolveApproval",
          { key: KEY, toolCallId: "c-2", decision: "denied", reason: "no" },
        ],
        ["chat:cancelRun", { threadKey: KEY, runId: "r-1" }],
      ]);
    });

    it("B99 holds one socket and one subscription through any number of renders, and lets go", async () => {
      const gateway = await startGateway();
      const chat = adapter.chat(connect(gateway, { speed: 20 }), { threadKey: KEY });
      for (let render = 0; render < 60; render += 1) {
        chat.show({ threadKey: KEY, runArgs: { mode: `m-${render}` } });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await waitUntil(() => chat.now().status === "idle", "the thread is known");
      expect(gateway.connections).toBe(1);
      expect(gateway.got("subscribe")).toHaveLength(2);

      chat.unmount();

      await waitUntil(() => gateway.got("unsubscribe").length === 2, "both have ended");
      await waitUntil(() => gateway.lines.size === 0, "the socket is closed");
      expect(gateway.got("subscribe")).toHaveLength(2);
    });

    it("B98 SUB-02 shows a turn that the server began, in a bubble of its own, and is idle after it", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread({ status: "completed" }));
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "completed", "the thread is known");

      for (const seq of [2, 3, 4]) {
        const runId = `r-${seq}`;
        gateway.token(KEY, {
          run: runId,
          turn: 0,
          part: 0,
          kind: "text",
          offset: 0,
          text: "ping",
          attempt: 100,
        });
        gateway.commit(KEY, [], aThread({ runId, status: "running" }));
        gateway.commit(
          KEY,
          [aMessage({ seq, runId, text: "ping" })],
          aThread({ runId, status: "completed" }),
        );
      }
      await waitUntil(() => chat.now().messages.length === 4, "all are there");

      expect(chat.now()).toMatchObject({ status: "completed", live: [], pending: false });
    });
  });

  describe(`${adapter.name}: what stays the same`, () => {
    it("keeps the actions the same functions, so that effects do not run again", async () => {
      const gateway = await startGateway();
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      const { send, cancel } = chat.now();

      chat.show({ threadKey: KEY, runArgs: { mode: "quick" } });
      await waitUntil(() => chat.now().status === "idle", "the thread is known");

      expect(chat.now().send).toBe(send);
      expect(chat.now().cancel).toBe(cancel);
    });

    it("keeps messages the same objects that did not change, so that their bubbles stay as they are", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().messages.length === 1, "the first is there");
      const [first] = chat.now().messages;

      gateway.commit(KEY, [aMessage({ seq: 2 })]);
      await waitUntil(() => chat.now().messages.length === 2, "the second is there");
      const before = chat.now().messages;
      const said = { run: "r-2", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
      gateway.token(KEY, { ...said, offset: 0, text: "x" });
      await waitUntil(() => chat.now().streamingText === "x", "text comes");

      expect(chat.now().messages[0]).toBe(first);
      expect(chat.now().messages).toBe(before);
    });
  });

  describe(`${adapter.name}: a connection`, () => {
    it("SDK-09 says where it stands, without making one", async () => {
      const gateway = await startGateway();
      const client = connect(gateway);
      const connection = adapter.connection(client, { threadKey: KEY });
      expect(connection.now().name).toBe("idle");

      const chat = adapter.chat(client, { threadKey: KEY });
      await waitUntil(() => connection.now().name === "open", "it is open");
      chat.unmount();
    });
  });

  describe(`${adapter.name}: a conversation`, () => {
    it("B97 shows the selected branch, and does all that one can to it", async () => {
      const gateway = await startGateway();
      gateway.handlers.set("agents:agentFork", () => ({ key: "t-2" }));
      const talk = new Conversation(gateway, KEY);
      talk.ask(KEY, "one");
      talk.answer(KEY, "ONE");
      const chat = adapter.chat(connect(gateway), { threadKey: KEY });
      await waitUntil(() => chat.now().status === "completed", "the thread is known");
      const from = chat.frames.length;

      const again = await chat.now().regenerate();
      await waitUntil(() => chat.now().thread?.key === again, "another is on show");
      talk.answer(again, "anew");
      const edited = await chat.now().editMessage(`${again}:1`, "uno");
      await waitUntil(() => chat.now().thread?.key === edited, "a third is on show");
      expect(chat.now().messages.map(({ text }) => text)).toEqual(["uno"]);
      expect(chat.now().branches).toMatchObject([{ index: 2, keys: [KEY, again, edited] }]);
      await chat.now().selectBranch(again);
      await waitUntil(() => chat.now().messages.at(-1)?.text === "anew", "the second is back");
      await chat.now().send("and?");
      expect(await chat.now().fork(`${again}:2`)).toBe("t-2");

      expect(gateway.got("call").map(({ args }) => args?.["threadKey"] ?? args?.["key"])).toEqual([
        KEY,
        again,
        KEY,
        again,
        again,
      ]);
      for (const { value } of chat.frames.slice(from)) {
        const stored = value.messages.filter(({ optimistic }) => !optimistic);
        expect(value.messages).not.toEqual([]);
        expect(stored.every(({ id }) => id.startsWith(`${value.thread?.key}:`))).toBe(true);
      }
    });
  });

  describe(`${adapter.name}: a state`, () => {
    it("SDK-11 SDK-12 STA-08 is undefined until there is one, then each value of it", async () => {
      const gateway = await startGateway();
      const state = adapter.state(connect(gateway), { threadKey: KEY });
      expect(state.now()).toEqual({ state: undefined, error: undefined });
      await waitUntil(() => gateway.subscriptions.length === 1, "it is watched");

      for (const value of [{ cart: [] }, [1, null], 0, false, ""]) {
        gateway.setState(KEY, value);
        await waitUntil(
          () => Object.is(JSON.stringify(state.now().state), JSON.stringify(value)),
          "it is pushed",
        );
      }

      expect(gateway.subscriptions).toEqual(['agents:agentState{"key":"t-1"}']);
    });

    it("B73 is never another thread's, for not a single frame", async () => {
      const gateway = await startGateway();
      gateway.setState("a", { of: "a" });
      gateway.setState("b", { of: "b" });
      const state = adapter.state(connect(gateway), { threadKey: "a" });
      await waitUntil(() => state.now().state !== undefined, "the first is there");

      for (const threadKey of ["b", "none", "a", "new", "b", "a"]) {
        state.show({ threadKey });
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await waitUntil(() => state.now().state !== undefined, "the last is there");

      for (const { options, value } of state.frames) {
        const of = (value.state as { of: string } | undefined)?.of;
        expect([options.threadKey, undefined]).toContain(of);
      }
    });

    it("B66 SUB-03 is renewed after a cut, as everything else is", async () => {
      const gateway = await startGateway();
      gateway.setState(KEY, { count: 1 });
      const state = adapter.state(connect(gateway, { speed: 20 }), { threadKey: KEY });
      await waitUntil(() => state.now().state !== undefined, "it is there");

      gateway.cut();
      gateway.setState(KEY, { count: 2 });

      await waitUntil(
        () => (state.now().state as { count: number }).count === 2,
        "what was missed is there",
      );
    });
  });

  describe(`${adapter.name}: an agent`, () => {
    it("SDK-01 SDK-04 gives run, cancel, pending, status and thread, live", async () => {
      const gateway = await startGateway();
      gateway.handlers.set("chat:startRun", () => {
        gateway.commit(KEY, [], aThread({ status: "running" }));
        return { id: "r-1" };
      });
      const agent = adapter.agent(connect(gateway), { threadKey: KEY });
      expect(Object.keys(agent.now())).toEqual(
        expect.arrayContaining(["run", "cancel", "pending", "status", "thread"]),
      );
      await waitUntil(() => agent.now().status === "idle", "the thread is known");

      await agent.now().run("hello");
      await waitUntil(() => agent.now().status === "running", "it runs");
      gateway.commit(KEY, [], aThread({ status: "completed", title: "Done" }));
      await waitUntil(() => agent.now().status === "completed", "it is over");

      expect(agent.frames.some(({ value }) => value.pending && value.status === "queued")).toBe(
        true,
      );
      expect(agent.now()).toMatchObject({ pending: false, thread: { title: "Done" } });
      expect(gateway.subscriptions).toEqual(['agents:agentThread{"key":"t-1"}']);
    });

    it("SDK-03 cancel does nothing without a reference, and stops the run with one", async () => {
      const gateway = await startGateway();
      gateway.handlers.set("chat:cancelRun", () => ({ cancelled: true }));
      gateway.commit(KEY, [], aThread({ runId: "r-5" }));
      const agent = adapter.agent(connect(gateway), { threadKey: KEY });
      await waitUntil(() => agent.now().status === "running", "the thread is known");

      await agent.now().cancel();
      agent.show({ threadKey: KEY, withCancel: true });
      await agent.now().cancel();

      expect(gateway.got("call").map(({ args }) => args)).toEqual([
        { threadKey: KEY, runId: "r-5" },
      ]);
    });
  });

  describe(`${adapter.name}: a subscription`, () => {
    it("SDK-13 SUB-01 gives the value of a query and each change of it", async () => {
      const gateway = await startGateway();
      gateway.commit(KEY, [aMessage({ seq: 1 })]);
      const messages = adapter.messages(connect(gateway), { threadKey: KEY });
      expect(messages.now()).toEqual({ value: undefined, error: undefined, loading: true });

      await waitUntil(() => !messages.now().loading, "it has a value");
      gateway.commit(KEY, [aMessage({ seq: 2 })]);
      await waitUntil(() => (messages.now().value as unknown[]).length === 2, "it has changed");
      messages.show({ threadKey: "other" });

      expect(messages.now()).toMatchObject({ value: undefined, loading: true });
      await waitUntil(() => !messages.now().loading, "the other has a value");
      expect(messages.now().value).toEqual([]);
    });
  });
}

export const CALL_OPTIONS = (options: Options) => ({
  threadKey: options.threadKey,
  run: api.chat.startRun,
  ...(options.withCancel && { cancel: api.chat.cancelRun }),
  ...(options.runArgs && { runArgs: options.runArgs }),
  ...(options.stream !== undefined && { stream: options.stream }),
});

/** Regenerating, editing, selecting: one branch is on show, whatever happens on the way. */

import { describe, expect, it } from "vitest";
import {
  type Chat,
  type ChatClient,
  type ChatState,
  createChat,
  type Message,
} from "../../src/core/index.js";
import { anApproval } from "../support/builders.js";
import { Conversation } from "../support/conversation.js";
import { dice } from "../support/dice.js";
import type { TestGateway } from "../support/gateway.js";
import { api, CALLS, connect, cutOff, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const CANCEL = api.chat.cancelRun;
const AGAIN = `${KEY}~1`;

async function aConversation() {
  const gateway = await startGateway();
  gateway.handlers.set(CANCEL, () => ({ cancelled: true }));
  const talk = new Conversation(gateway, KEY);
  for (const text of ["one", "two"]) {
    talk.ask(KEY, text);
    talk.answer(KEY, text.toUpperCase());
  }
  return { gateway, talk };
}

async function watched(client: ChatClient, until = "TWO") {
  const chat = createChat(client, KEY);
  const { frames } = record(chat);
  await waitUntil(() => texts(chat).includes(until), "the conversation is there");
  return { chat, frames };
}

async function start() {
  const { gateway, talk } = await aConversation();
  const client = connect(gateway);
  return { gateway, talk, client, ...(await watched(client)) };
}

const texts = (chat: Chat) => chat.state.get().messages.map(({ text }) => text);
const keyOf = (id: string) => id.slice(0, id.lastIndexOf(":"));

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What is wrong with a state: its messages are of one branch, that of its thread, each once. */
function wrong({ messages, thread, live, status, pendingApprovals }: ChatState): string[] {
  const stored = messages.filter(({ optimistic }) => !optimistic);
  const ids = new Set(messages.map(({ id }) => id));
  return [
    ...stored.filter(({ id }) => keyOf(id) !== thread?.key).map(({ id }) => `${id} is another's`),
    ...messages.filter(({ seq }, at) => seq !== at + 1).map(({ id }) => `${id} is out of place`),
    ...(ids.size < messages.length ? ["a message stands twice"] : []),
    ...live.filter(({ run }) => run !== thread?.runId).map(({ run }) => `${run} speaks`),
    ...(pendingApprovals.length > 0 && status !== "awaiting_input" ? ["a card is left"] : []),
  ];
}

/** Hold every state that a chat was in to being right, and to showing something once it did. */
function hold(frames: readonly ChatState[], name = ""): void {
  const first = frames.findIndex(({ messages }) => messages.length > 0);
  const found = frames.flatMap((frame, at) => [
    ...wrong(frame),
    ...(at > first && frame.messages.length === 0 ? ["nothing is left"] : []),
  ]);
  expect(found, name).toEqual([]);
}

/** How many messages of this text there were at a time. */
function counts(frames: readonly ChatState[], text: string): Set<number> {
  return new Set(
    frames.map(({ messages }) => messages.filter((message) => message.text === text).length),
  );
}

describe("regenerate", () => {
  it.each([false, true])(
    "B97 SDK-06 shows at once that it is under way, then the new branch, and keeps the old (answered first: %s)",
    async (answersFirst) => {
      const { talk, chat, frames } = await start();
      talk.answersFirst = answersFirst;
      frames.length = 0;

      const made = chat.regenerate();

      expect(chat.state.get()).toMatchObject({ status: "queued", pending: true, error: undefined });
      expect(texts(chat)).toEqual(["one", "ONE", "two"]);
      expect(await made).toBe(AGAIN);
      await waitUntil(() => chat.state.get().thread?.key === AGAIN, "the new branch is there");
      talk.work(AGAIN);
      talk.speak(AGAIN, "An");
      await waitUntil(() => chat.state.get().streamingText === "An", "it is spoken");
      talk.answer(AGAIN, "Anew");
      await waitUntil(() => chat.state.get().status === "completed", "it is answered");

      expect(texts(chat)).toEqual(["one", "ONE", "two", "Anew"]);
      expect(talk.rows(KEY).map(({ text }) => text)).toEqual(["one", "ONE", "two", "TWO"]);
      expect(chat.state.get().branches).toEqual([
        { messageId: `${AGAIN}:3`, index: 1, count: 2, keys: [KEY, AGAIN] },
      ]);
      hold(frames);
      expect(counts(frames, "two")).toEqual(new Set([1]));
      expect(counts(frames, "TWO")).toEqual(new Set([0]));
      const statuses = frames.map(({ status }) => status);
      expect(statuses.filter((one, at) => one !== statuses[at - 1])).toEqual([
        "queued",
        "running",
        "completed",
      ]);
    },
  );

  it("B97 answers an earlier message again, and can be done twice", async () => {
    const { talk, chat, frames } = await start();

    for (const answer of ["first", "second"]) {
      const key = await chat.regenerate(`${chat.state.get().thread?.key}:2`);
      await waitUntil(() => chat.state.get().thread?.key === key, "the new branch is there");
      talk.answer(key, answer);
      await waitUntil(() => texts(chat).at(-1) === answer, "it is answered");
    }

    expect(texts(chat)).toEqual(["one", "second"]);
    expect(chat.state.get().branches).toMatchObject([{ index: 2, count: 3 }]);
    hold(frames);
  });

  it("leaves all as it was if it is refused, and says why", async () => {
    const { talk, chat, frames } = await start();
    const before = chat.state.get();
    talk.refuses = true;

    await expect(chat.regenerate()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

    expect(chat.state.get()).toEqual({ ...before, error: chat.state.get().error });
    expect(chat.state.get().error).toMatchObject({ code: "INVALID_ARGUMENT" });
    chat.dismissError();
    expect(chat.state.get()).toEqual(before);
    hold(frames);
  });

  it("of a message that nobody knows is the server's to refuse, and shows nothing", async () => {
    const { chat, frames } = await start();
    frames.length = 0;

    await expect(chat.regenerate("m-9")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

    expect(counts(frames, "TWO")).toEqual(new Set([1]));
  });

  it("B30 takes the card of the old run from the screen at once, and decides nothing", async () => {
    const { gateway, talk, chat, frames } = await start();
    const waits = { pendingApprovals: [anApproval({ key: KEY })] };
    talk.work(KEY, "awaiting_input", waits);
    await waitUntil(() => chat.state.get().pendingApprovals.length === 1, "it waits");
    frames.length = 0;

    const made = chat.regenerate();
    expect(chat.state.get().pendingApprovals).toEqual([]);
    const key = await made;
    await waitUntil(() => chat.state.get().thread?.key === key, "the new branch is there");
    talk.answer(key, "No need");
    await waitUntil(() => chat.state.get().status === "completed", "it is answered");

    hold(frames);
    expect(frames.every(({ pendingApprovals }) => pendingApprovals.length === 0)).toBe(true);
    expect(gateway.got("call").map(({ fn }) => fn)).toEqual(["agents:agentRegenerate"]);
  });

  it("does not come back over the old branch when that is selected again", async () => {
    const { chat, frames } = await start();
    const key = await chat.regenerate();
    await waitUntil(() => chat.state.get().thread?.key === key, "the new branch is there");

    await chat.selectBranch(KEY);
    await waitUntil(() => texts(chat).includes("TWO"), "the old one is back");

    expect(chat.state.get()).toMatchObject({ status: "completed", pending: false });
    hold(frames);
  });
});

describe("an edit", () => {
  it("B97 SDK-06 shows the new text at once in the place of the old, once, and forgets what followed", async () => {
    const { talk, chat, frames } = await start();
    frames.length = 0;

    const made = chat.editMessage(`${KEY}:1`, "uno");
    expect(texts(chat)).toEqual(["uno"]);
    const key = await made;
    await waitUntil(() => chat.state.get().thread?.key === key, "the new branch is there");
    talk.answer(key, "UNO");
    await waitUntil(() => chat.state.get().status === "completed", "it is answered");

    expect(texts(chat)).toEqual(["uno", "UNO"]);
    expect(counts(frames, "uno")).toEqual(new Set([1]));
    expect(counts(frames, "one")).toEqual(new Set([0]));
    hold(frames);
  });

  it("is taken back if it is refused", async () => {
    const { talk, chat, frames } = await start();
    talk.refuses = true;

    await expect(chat.editMessage(`${KEY}:3`, "zwei")).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });

    expect(texts(chat)).toEqual(["one", "ONE", "two", "TWO"]);
    hold(frames);
  });
});

describe("a branch that is selected", () => {
  it("B97 is shown in every tab, and the old one until it is there", async () => {
    const { gateway, talk, chat, frames } = await start();
    const other = await watched(connect(gateway));
    const key = talk.branch(KEY, 2, "deux");
    talk.answer(key, "DEUX");

    await chat.selectBranch(key);
    for (const one of [chat, other.chat]) {
      await waitUntil(() => texts(one).includes("DEUX"), "it is on show");
      expect(texts(one)).toEqual(["one", "ONE", "deux", "DEUX"]);
    }
    await other.chat.selectBranch(KEY);
    for (const one of [chat, other.chat]) {
      await waitUntil(() => texts(one).includes("TWO"), "the first is on show again");
    }

    hold(frames);
    hold(other.frames);
    expect([...frames, ...other.frames].every(({ error }) => error === undefined)).toBe(true);
  });

  it.each([false, true])(
    "is shown at once, and never left for the old one again (answered first: %s)",
    async (answersFirst) => {
      const { talk, chat, frames } = await start();
      const other = talk.branch(KEY, 2, "deux");
      talk.select(KEY);
      await waitUntil(() => chat.state.get().branches.length === 1, "both are known");
      talk.answersFirst = answersFirst;
      talk.beforeAnswer = () => pause(20);
      frames.length = 0;

      await chat.selectBranch(other);
      await Promise.all(talk.told);
      await waitUntil(() => texts(chat).includes("deux"), "it is on show");
      await pause(30);
      talk.select(KEY);
      await waitUntil(() => texts(chat).includes("TWO"), "another tab has gone back");
      await pause(30);

      const keys = frames.map(({ thread }) => thread?.key);
      expect(keys.filter((one, at) => one !== keys[at - 1])).toEqual(
        keys[0] === KEY ? [KEY, other, KEY] : [other, KEY],
      );
      hold(frames);
    },
  );

  it("is selected before a word goes to the root, whose key means what is shown", async () => {
    const { gateway, talk, chat } = await start();
    talk.select(talk.branch(KEY, 2, "deux"));
    await waitUntil(() => texts(chat).includes("deux"), "it is on show");
    const done: string[] = [];
    for (const name of ["agents:agentSelectBranch", "chat:startRun"]) {
      const take = gateway.handlers.get(name);
      gateway.handlers.set(name, async (...given) => {
        done.push(`${name} begins`);
        const answer = await take?.(...given);
        done.push(`${name} ends`);
        return answer;
      });
    }

    await Promise.all([chat.selectBranch(KEY), chat.send(CALLS, "three")]);

    expect(done).toEqual(
      ["agents:agentSelectBranch", "chat:startRun"].flatMap((name) => [
        `${name} begins`,
        `${name} ends`,
      ]),
    );
    await waitUntil(() => texts(chat).includes("three"), "it is in the root");
    expect(texts(chat)).toEqual(["one", "ONE", "two", "TWO", "three"]);
  });

  it("B48 is all that a tab that comes later ever shows", async () => {
    const { gateway, talk } = await aConversation();
    const key = talk.branch(KEY, 2, "deux");
    talk.answer(key, "DEUX");
    talk.select(key);

    const { chat, frames } = await watched(connect(gateway), "DEUX");

    expect(chat.state.get()).toMatchObject({ status: "completed", thread: { key } });
    expect(counts(frames, "two")).toEqual(new Set([0]));
    expect(new Set(frames.map(({ status }) => status))).toEqual(new Set(["loading", "completed"]));
    hold(frames);
  });

  it("is let go again if the server refuses", async () => {
    const { talk, chat, frames } = await start();
    const key = talk.branch(KEY, 2, "deux");
    talk.select(KEY);
    await waitUntil(() => chat.state.get().branches.length === 1, "both are known");
    talk.refuses = true;

    await expect(chat.selectBranch(key)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await waitUntil(() => texts(chat).includes("TWO"), "it is as it was");
    expect([...frames].some(({ error }) => error?.code === "NOT_FOUND")).toBe(true);

    hold(frames);
  });

  it("is what is watched: the messages of the others are let go", async () => {
    const { gateway, talk, chat } = await start();
    const key = talk.branch(KEY, 2, "deux");
    await chat.selectBranch(key);
    await waitUntil(() => texts(chat).includes("deux"), "it is on show");

    await waitUntil(() => gateway.subscriptions.length === 3, "the old one is let go");
    expect(gateway.subscriptions).toEqual([
      `agents:agentMessages{"key":"${key}"}`,
      `agents:agentThread{"key":"${KEY}"}`,
      `agents:agentThread{"key":"${key}"}`,
    ]);
  });

  it("is what an agent without messages shows, too", async () => {
    const { gateway, talk, client } = await start();
    const { agent } = createChat(client, KEY);
    agent.subscribe(() => {});
    const key = talk.branch(KEY, 2, "deux");
    talk.work(key);
    talk.select(key);

    await waitUntil(() => agent.get().status === "running", "the other works");
    expect(agent.get().thread?.key).toBe(key);
    expect(gateway.got("call")).toEqual([]);
  });

  it("is what is cancelled, retried, decided and paged", async () => {
    const { gateway, talk, chat } = await start();
    const { handlers } = gateway;
    handlers.set("agents:agentRetry", () => ({ retried: false }));
    handlers.set("agents:agentResolveApproval", () => ({}));
    handlers.set("agents:agentFork", () => ({ key: "t-2" }));
    const key = talk.branch(KEY, 2, "deux");
    talk.select(key);
    await waitUntil(() => texts(chat).includes("deux"), "it is on show");
    const { runId } = chat.state.get().thread ?? {};

    await chat.cancel(CANCEL);
    talk.work(key, "failed");
    await waitUntil(() => chat.state.get().status === "failed", "it failed");
    await chat.retry();
    await chat.approve("c-1");
    expect(await chat.fork(`${key}:2`, { edge: "before" })).toBe("t-2");
    expect(await chat.fork()).toBe("t-2");
    await chat.send(CALLS, "more");

    expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([
      [CANCEL, { threadKey: key, runId }],
      ["agents:agentRetry", { key, runId }],
      ["agents:agentResolveApproval", { key, toolCallId: "c-1", decision: "approved" }],
      ["agents:agentFork", { key, messageId: `${key}:2`, edge: "before" }],
      ["agents:agentFork", { key }],
      [CALLS.run, { threadKey: key, input: "more" }],
    ]);
  });
});

describe("what is on its way when the branch changes", () => {
  it("a send that waits offline goes where it was written, and shows there", async () => {
    const { gateway, talk, client, chat, frames } = await start();
    const key = talk.branch(KEY, 2, "deux");
    await cutOff(gateway, client);

    const sent = chat.send(CALLS, "and three?");
    expect(texts(chat).at(-1)).toBe("and three?");
    talk.select(key);
    await sent;
    await waitUntil(() => texts(chat).includes("deux"), "the other branch is on show");

    expect(gateway.got("call").map(({ args }) => args)).toEqual([
      { threadKey: KEY, input: "and three?" },
    ]);
    expect(talk.rows(KEY).at(-1)?.text).toBe("and three?");
    expect(texts(chat)).toEqual(["one", "ONE", "deux"]);
    expect(chat.state.get().pending).toBe(false);
    hold(frames);
    await chat.selectBranch(KEY);
    await waitUntil(() => texts(chat).includes("and three?"), "it is where it was written");
  });

  it("what is sent while a branch is begun goes to that", async () => {
    const { gateway, chat, frames } = await start();
    const made = chat.regenerate();
    const early = chat.send(CALLS, "quickly");
    await made;
    const late = chat.send(CALLS, "and more");
    await Promise.all([early, late]);

    const key = await made;
    const calls = gateway.got("call").slice(1);
    expect(calls.map(({ args }) => args?.["threadKey"])).toEqual([key, key]);
    await waitUntil(() => texts(chat).length === 5, "all are there");
    hold(frames);
  });

  it("B44 cancel stops what a regenerate starts, in the new branch", async () => {
    const { gateway, talk, chat } = await start();
    talk.beforeAnswer = () => pause(20);
    const made = chat.regenerate();

    await chat.cancel(CANCEL);

    const key = await made;
    const { runId } = talk.view(key);
    expect(gateway.got("call").at(-1)?.args).toEqual({ threadKey: key, runId });
  });

  it("B44 cancel stops it as well between the answer and the first sight of it", async () => {
    const { gateway, talk, chat } = await start();
    talk.answersFirst = true;
    const key = await chat.regenerate();
    expect(chat.state.get().thread?.key).toBe(KEY);

    await chat.cancel(CANCEL);

    expect(gateway.got("call").at(-1)?.args).toEqual({
      threadKey: key,
      runId: talk.view(key).runId,
    });
  });

  it("B44 cancel takes a regenerate back that has not left", async () => {
    const { gateway, client, chat } = await start();
    await cutOff(gateway, client);
    const made = chat.regenerate().catch((error) => error);

    await chat.cancel(CANCEL);

    expect(await made).toMatchObject({ code: "CANCELLED" });
    expect(texts(chat)).toEqual(["one", "ONE", "two", "TWO"]);
    expect(chat.state.get()).toMatchObject({ status: "completed", error: undefined });
  });

  it("SUB-03 a regenerate that was cut off begins one branch, not two", async () => {
    const { gateway, talk, chat, frames } = await start();
    talk.beforeAnswer = async () => {
      talk.beforeAnswer = async () => {};
      gateway.cut();
    };

    const key = await chat.regenerate();
    await waitUntil(() => chat.state.get().thread?.key === key, "the new branch is there");

    expect(talk.branches).toHaveLength(2);
    hold(frames);
  });
});

async function act(chat: Chat, talk: Conversation, roll: (sides: number) => number) {
  const { messages } = chat.state.get();
  const users = messages.filter(({ role, optimistic }) => role === "user" && !optimistic);
  const one = users[roll(users.length || 1)];
  const keys = talk.branches.map(({ key }) => key);
  switch (one ? roll(4) : 3) {
    case 0:
      return await chat.regenerate(one?.id);
    case 1:
      return await chat.editMessage(one?.id ?? "", `edit ${roll(1_000)}`);
    case 2:
      return await chat.send(CALLS, `send ${roll(1_000)}`);
    default:
      return await chat.selectBranch(keys[roll(keys.length)] ?? KEY);
  }
}

async function play(gateway: TestGateway, talk: Conversation, seed: number) {
  const roll = dice(seed);
  const clients = [connect(gateway, { speed: 50 }), connect(gateway, { speed: 50 })];
  const tabs = await Promise.all(clients.map((client) => watched(client)));
  talk.beforeTold = () => pause(roll(4));
  talk.beforeAnswer = () => pause(roll(4));
  const acts: Promise<unknown>[] = [];
  for (let step = 0; step < 14; step += 1) {
    const tab = tabs[roll(2)] ?? tabs[0];
    talk.answersFirst = roll(4) === 0;
    talk.refuses = roll(5) === 0;
    if (tab) acts.push(act(tab.chat, talk, roll).catch(() => {}));
    if (roll(6) === 0) gateway.cut();
    const busy = talk.branches.filter(({ status }) => status === "queued");
    for (const { key } of busy) if (roll(2)) talk.answer(key, `answer ${roll(1_000)}`);
    await pause(roll(5));
  }
  await Promise.all(acts);
  await Promise.all(talk.told);
  for (const { key, status } of talk.branches) if (status === "queued") talk.answer(key, "end");
  for (const { chat, frames } of tabs) {
    const ids = (messages: readonly Message[]) => messages.map(({ id }) => id).join();
    await waitUntil(
      () =>
        ids(chat.state.get().messages) === ids(talk.rows(talk.selected)) &&
        chat.state.get().status === "completed",
      `both show what is selected, and it rests, seed ${seed}`,
    );
    hold(frames, `seed ${seed}`);
  }
  for (const client of clients) client.close();
}

describe("two tabs", () => {
  it("B97 agree in the end and show one branch at a time, over 40 histories of all that can be done", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const { gateway, talk } = await aConversation();
      await play(gateway, talk, seed);
      await gateway.stop();
    }
  }, 60_000);
});

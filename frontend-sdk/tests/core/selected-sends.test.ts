/** What is said under the root's key waits for what was selected; until then it is a call like any. */

import { describe, expect, it } from "vitest";
import { type ChatClient, createChat } from "../../src/core/index.js";
import { Conversation } from "../support/conversation.js";
import type { TestGateway } from "../support/gateway.js";
import { api, CALLS, connect, cutOff, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";

/** A conversation of two branches whose first is on show, and that cannot hear what is selected. */
async function start(more: Parameters<typeof connect>[1] = {}) {
  const gateway = await startGateway();
  gateway.judge = (token) => token ?? null;
  const talk = new Conversation(gateway, KEY);
  talk.ask(KEY, "one");
  talk.answer(KEY, "ONE");
  const other = talk.branch(KEY, 0, "un");
  talk.select(KEY);
  const client = connect(gateway, more);
  const chat = createChat(client, KEY);
  chat.state.subscribe(() => {});
  await waitUntil(() => chat.state.get().branches.length === 1, "both branches are known");
  return { gateway, client, chat, other };
}

const called = (gateway: TestGateway) => gateway.got("call").map(({ fn }) => fn);

async function back(client: ChatClient): Promise<void> {
  await waitUntil(() => client.connection.get().name === "open", "it is back");
  await client.call(api.chat.cancelRun, {} as never).catch(() => {});
}

describe("a send that waits for what was selected", () => {
  it("is never made in the name of somebody else who signs in meanwhile", async () => {
    let token = "ada";
    const { gateway, client, chat, other } = await start({ token: () => token });
    await cutOff(gateway, client);
    token = "bob";

    const done = await Promise.allSettled([chat.selectBranch(other), chat.send(CALLS, "secret")]);
    await back(client);

    for (const one of done) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "UNAUTHENTICATED" } });
    }
    expect(called(gateway)).toEqual([api.chat.cancelRun]);
  });

  it("is taken back by a cancel, and never leaves", async () => {
    const { gateway, client, chat, other } = await start();
    await cutOff(gateway, client);

    const selected = chat.selectBranch(other);
    const sent = chat.send(CALLS, "never mind");
    await chat.cancel(api.chat.cancelRun);

    await expect(sent).rejects.toMatchObject({ code: "CANCELLED" });
    await selected;
    await back(client);
    expect(called(gateway)).not.toContain(CALLS.run);
  });

  it("fails with the client's end", async () => {
    const { gateway, client, chat, other } = await start();
    await cutOff(gateway, client);

    const done = Promise.allSettled([chat.selectBranch(other), chat.send(CALLS, "late")]);
    client.close();

    for (const one of await done) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "CLOSED" } });
    }
    expect(called(gateway)).toEqual([]);
  });

  it("says what was asked, whatever became of the object since", async () => {
    const { gateway, client, chat, other } = await start();
    await cutOff(gateway, client);
    const options = { model: "small" };

    const selected = chat.selectBranch(other);
    const sent = chat.send({ ...CALLS, runArgs: { options } }, "as it was");
    options.model = "large";
    await Promise.all([selected, sent]);

    expect(gateway.got("call").at(-1)?.args).toMatchObject({ options: { model: "small" } });
  });

  it("comes after all that was selected, and each of that after the one before", async () => {
    const { gateway, chat, other } = await start();
    const take = gateway.handlers.get("agents:agentSelectBranch");
    const done: unknown[] = [];
    gateway.handlers.set("agents:agentSelectBranch", async (args, call) => {
      await new Promise((resolve) => setTimeout(resolve, done.length === 0 ? 30 : 0));
      done.push(args["branch"]);
      return await take?.(args, call);
    });

    await Promise.all([chat.selectBranch(other), chat.selectBranch(KEY), chat.send(CALLS, "two")]);

    expect(done).toEqual([other, KEY]);
    expect(called(gateway).at(-1)).toBe(CALLS.run);
  });

  it("goes all the same if the selection is refused: to what is shown again", async () => {
    const { gateway, chat } = await start();

    const [selected, sent] = await Promise.allSettled([
      chat.selectBranch("t-unknown"),
      chat.send(CALLS, "two"),
    ]);

    expect([selected.status, sent.status]).toEqual(["rejected", "fulfilled"]);
    expect(called(gateway)).toEqual(["agents:agentSelectBranch", CALLS.run]);
  });
});

/** A client that was away for so long that its page of messages begins anew. */

import { expect, it } from "vitest";
import { createChat, type Message } from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { bubbles, CALLS, connect, cutOff, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) =>
    aMessage({ seq: from + index, runId: "r-9" }),
  );

/** A chat that saw the first message, and how its conversation goes on while nobody hears of it. */
async function aChat() {
  const gateway = await startGateway();
  gateway.page = 3;
  gateway.maxMissed = 2;
  gateway.commit(KEY, [aMessage({ seq: 1, role: "user" })], aThread());
  const client = connect(gateway, { speed: 20 });
  const chat = createChat(client, KEY);
  record(chat);
  await waitUntil(() => chat.state.get().status === "running", "the thread is known");
  const goOn = (second: Message) => {
    gateway.commit(KEY, [second]);
    gateway.commit(KEY, rows(3, 9), aThread({ runId: "r-9", status: "completed" }));
  };
  const back = () =>
    waitUntil(() => chat.state.get().messages.some(({ seq }) => seq === 9), "it is back");
  return { gateway, client, chat, goOn, back };
}

it("SUB-03 does not go on with what was said before, whose message it never sees", async () => {
  const { gateway, client, chat, goOn, back } = await aChat();
  const said = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
  gateway.token(KEY, { ...said, offset: 0, text: "abc" });
  await waitUntil(() => chat.state.get().streamingText === "abc", "it speaks");

  await cutOff(gateway, client);
  goOn(aMessage({ seq: 2, turn: 0 }));
  await back();

  await waitUntil(() => chat.state.get().status === "completed", "the run is over");
  expect(chat.state.get()).toMatchObject({ live: [], streamingText: "", hasOlder: true });
});

it("SDK-06 does not show a sent message beside the page on whose older part it is", async () => {
  const { gateway, chat, goOn, back } = await aChat();
  gateway.handlers.set("chat:startRun", (_args, { dedupe = "" }) => {
    gateway.cut();
    goOn(aMessage({ seq: 2, role: "user", runId: "r-2", dedupe }));
    return { id: "r-2" };
  });

  await chat.send(CALLS, "and then?");
  await back();

  await waitUntil(() => bubbles(chat.state.get()).length === 3, "only the page is shown");
  expect(chat.state.get()).toMatchObject({ status: "completed", pending: false });
});

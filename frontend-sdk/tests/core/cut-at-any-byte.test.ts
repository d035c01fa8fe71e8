/** The line breaks at a chosen byte of what the server sends: between frames, and within them. */

import { afterEach, expect, it } from "vitest";
import { type ChatState, createChat } from "../../src/core/index.js";
import { BadLine, type Weather } from "../support/bad-line.js";
import { aMessage, aThread } from "../support/builders.js";
import { bubbles, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const CUTS = 24;
const SAID = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;

let line: BadLine | undefined;
afterEach(() => line?.stop());

/** Ask and be answered over a line in such weather; return what was shown, and the bytes it took. */
async function story(weather: Weather) {
  const gateway = await startGateway();
  line = await BadLine.to(gateway.url);
  line.weather = weather;
  const client = connect(gateway, { url: line.url, speed: 20 });
  const chat = createChat(client, KEY);
  const { frames } = record(chat);
  let effects = 0;
  gateway.handlers.set("chat:startRun", (_args, { dedupe = "" }) => {
    effects += 1;
    const row = aMessage({ seq: 1, role: "user", text: "hi", dedupe });
    gateway.commit(KEY, [row], aThread({ status: "running" }));
    return { id: "r-1" };
  });
  // Only the first line is bad.
  await waitUntil(() => gateway.connections > 0, "a line was opened");
  line.weather = {};
  await chat.send(CALLS, "hi");
  for (const [at, text] of ["How ", "warm", " it is"].entries()) {
    gateway.token(KEY, { ...SAID, offset: at * 4, text });
  }
  const row = aMessage({ seq: 2, turn: 0, text: "How warm it is" });
  gateway.commit(KEY, [row], aThread({ status: "completed" }));
  await waitUntil(() => chat.state.get().status === "completed", "it is over");
  await waitUntil(() => bubbles(chat.state.get()).join() === "hi,How warm it is", "it is whole");
  const [bytes = 0] = line.received;
  client.close();
  await line.stop();
  return { state: chat.state.get(), frames, effects, bytes };
}

function expectOnce({
  state,
  frames,
  effects,
}: {
  state: ChatState;
  frames: ChatState[];
  effects: number;
}) {
  expect(effects).toBe(1);
  expect(state).toMatchObject({ live: [], streamingText: "", pending: false, error: undefined });
  for (const frame of frames) {
    const texts = bubbles(frame);
    expect(new Set(texts).size, texts.join()).toBe(texts.length);
    expect("How warm it is".startsWith(frame.streamingText)).toBe(true);
  }
}

it(`SUB-03 SDK-06 B49 B66 a chat is whole and nothing is twice, at ${CUTS} places of a cut`, async () => {
  const whole = await story({});
  expectOnce(whole);

  for (let cut = 1; cut <= CUTS; cut += 1) {
    expectOnce(await story({ cutAt: Math.floor((whole.bytes * cut) / (CUTS + 1)) }));
  }
}, 60_000);

it("is the same when every byte comes alone and late", async () => {
  expectOnce(await story({ piece: 1, delayMs: 5 }));
});

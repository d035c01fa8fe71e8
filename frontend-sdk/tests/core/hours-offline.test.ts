/** What a client does over hours without a network, and whatever the clock on the wall says. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { createChat, createClient } from "../../src/core/index.js";
import { MAX_WAITING } from "../../src/core/requests.js";
import { turn } from "../support/chat-storm.js";
import { Conversation } from "../support/conversation.js";
import { TestGateway } from "../support/gateway.js";
import { bubbles, CALLS } from "../support/setup.js";
import { VirtualLine, VirtualTime } from "../support/virtual.js";

const KEY = "t-1";
const HOUR_MS = 3_600_000;

function aMachine() {
  const time = new VirtualTime();
  const gateway = TestGateway.inMemory();
  const talk = new Conversation(gateway, KEY);
  talk.queues = true;
  const line = new VirtualLine((wire) => gateway.accept(wire));
  let dials = 0;
  let wake = () => {};
  const client = createClient({
    url: "http://far-away",
    environment: {
      now: time.now,
      after: time.after,
      random: () => 1,
      open: (url, protocol) => {
        dials += 1;
        return line.open(url, protocol);
      },
      onWake: (listener) => {
        wake = listener;
        return () => {};
      },
    },
  });
  const chat = createChat(client, KEY);
  chat.state.subscribe(() => {});
  /** Let the line stand, and all arrive that is on its way. */
  const settle = async () => {
    for (let round = 0; round < 5; round += 1) {
      await turn();
      line.connect();
      while (line.up.length > 0) line.hear();
      await turn();
      while (line.down.length > 0) line.deliver();
    }
  };
  return {
    time,
    gateway,
    talk,
    line,
    client,
    chat,
    settle,
    wake: () => wake(),
    dials: () => dials,
  };
}

describe("hours without a network", () => {
  it("are outlived by what was sent, which arrives once and in order", async () => {
    const { time, gateway, talk, line, client, chat, settle, dials } = aMachine();
    await settle();
    line.cut();
    const sent = ["one", "two", "three"].map((text) => chat.send(CALLS, text));

    for (let minute = 0; minute < 600; minute += 1) {
      time.pass(HOUR_MS / 60);
      await turn();
      line.cut();
    }
    expect(bubbles(chat.state.get())).toEqual(["one", "two", "three"]);
    expect(client.connection.get().name).toBe("waiting");
    // A minute is four pauses at their longest, and each attempt was refused.
    expect(dials()).toBeLessThan(600 * 4);
    time.pass(HOUR_MS);
    await settle();

    expect(await Promise.all(sent)).toHaveLength(3);
    expect(gateway.got("call").map(({ args }) => args?.["input"])).toEqual(["one", "two", "three"]);
    const waiting = talk.view(KEY).waiting.map(({ text }) => text);
    expect([talk.rows(KEY).map(({ text }) => text), waiting]).toEqual([["one"], ["two", "three"]]);
    client.close();
  });

  it("do not fill the memory: of too many calls the newest is refused", async () => {
    const { client } = aMachine();
    const call = (index: number) => client.call("app:note", { index } as never);
    const calls = Array.from({ length: MAX_WAITING }, (_, index) => call(index).catch(() => {}));

    await expect(call(MAX_WAITING)).rejects.toMatchObject({ code: "RATE_LIMITED" });

    client.close();
    await Promise.all(calls);
  });
});

describe("a machine that sleeps", () => {
  it("goes on with a socket that outlived it, and asks whether it did", async () => {
    const { time, gateway, talk, chat, settle, wake, dials } = aMachine();
    await settle();

    time.pass(8 * HOUR_MS);
    wake();
    talk.ask(KEY, "by the clock");
    await settle();

    expect(gateway.got("ping").length).toBeGreaterThan(0);
    expect(bubbles(chat.state.get())).toEqual(["by the clock"]);
    expect(dials()).toBe(1);
  });

  it("gives a dead socket up a few seconds after it woke, and dials once", async () => {
    const { time, gateway, client, settle, wake, dials } = aMachine();
    await settle();
    gateway.silent = true;

    time.pass(8 * HOUR_MS);
    wake();
    wake();
    await settle();
    time.pass(5_000);
    expect(client.connection.get().name).toBe("waiting");
    gateway.silent = false;
    wake();
    await settle();

    expect(client.connection.get().name).toBe("open");
    expect(dials()).toBe(2);
  });
});

describe("the clock on the wall", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["is years behind", "2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z"],
    ["jumps ahead", "2026-11-30T07:00:00Z", "2099-01-01T00:00:00Z"],
    ["jumps back", "2026-11-30T07:00:00Z", "1999-01-01T00:00:00Z"],
  ])("may be wrong: %s", async (_how, before, then) => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date(before) });
    const { time, talk, line, chat, settle, dials } = aMachine();
    await settle();
    const first = chat.send(CALLS, "one");
    await settle();
    vi.setSystemTime(new Date(then));
    line.cut();
    const second = chat.send(CALLS, "two");
    time.pass(1_000);
    await settle();
    talk.answer(KEY, "both");
    await settle();

    await Promise.all([first, second]);
    expect(bubbles(chat.state.get())).toEqual(["one", "both", "two"]);
    expect(chat.state.get()).toMatchObject({ status: "completed", pending: false });
    expect(dials()).toBe(2);
  });
});

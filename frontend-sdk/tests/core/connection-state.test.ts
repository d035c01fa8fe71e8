import { describe, expect, it } from "vitest";
import {
  advance,
  backoffMs,
  type ConnectionEvent,
  type ConnectionState,
  IDLE,
} from "../../src/core/connection-state.js";

const OPEN: ConnectionState = {
  name: "open",
  failures: 3,
  since: 1_000,
  session: "s",
  identity: null,
};
const LOST: ConnectionEvent = { type: "lost", at: 1_500, jitter: 0.5 };

const EDGES: [string, ConnectionState, ConnectionEvent, ConnectionState["name"], string[]][] = [
  ["the first wish dials", IDLE, { type: "wanted" }, "dialing", ["dial"]],
  ["a second wish dials no second time", OPEN, { type: "wanted" }, "open", []],
  [
    "an open socket is greeted",
    { name: "dialing", failures: 0 },
    { type: "opened" },
    "greeting",
    ["greet"],
  ],
  [
    "a failed attempt waits",
    { name: "dialing", failures: 0 },
    LOST,
    "waiting",
    ["hang-up", "wait"],
  ],
  ["a lost connection waits", OPEN, LOST, "waiting", ["hang-up", "wait"]],
  [
    "after the wait it dials again",
    { name: "waiting", failures: 2 },
    { type: "due" },
    "dialing",
    ["dial"],
  ],
  [
    "who wakes does not wait",
    { name: "waiting", failures: 2 },
    { type: "woken" },
    "dialing",
    ["dial"],
  ],
  ["who wakes doubts the line", OPEN, { type: "woken" }, "open", ["probe"]],
  [
    "a goodbye moves on",
    OPEN,
    { type: "goodbye", retryAfterMs: 500, jitter: 0 },
    "waiting",
    ["hang-up", "wait"],
  ],
  ["when nobody cares it lets go", OPEN, { type: "unwanted" }, "idle", ["hang-up"]],
  [
    "a wait nobody needs ends",
    { name: "waiting", failures: 1 },
    { type: "unwanted" },
    "idle",
    ["hang-up"],
  ],
  ["another protocol is the end", OPEN, { ...LOST, code: 4400 }, "stopped", ["hang-up"]],
  ["a stop is the end", { name: "waiting", failures: 1 }, { type: "stop" }, "stopped", ["hang-up"]],
  ["a late loss changes nothing", { name: "waiting", failures: 1 }, LOST, "waiting", []],
  ["a late timer changes nothing", OPEN, { type: "due" }, "open", []],
];

describe("the connection", () => {
  it.each(EDGES)("%s", (_name, before, event, after, effects) => {
    const [state, owed] = advance(before, event);

    expect(state.name).toBe(after);
    expect(owed.map((effect) => effect.type)).toEqual(effects);
  });

  it("begins its pauses anew only after a connection that held", () => {
    const [soon] = advance(OPEN, LOST);
    const [late] = advance(OPEN, { ...LOST, at: 60_000 });

    expect(soon).toMatchObject({ failures: 4 });
    expect(late).toMatchObject({ failures: 1 });
  });

  it("waits as long as a draining server says, and a little spread", () => {
    const [, effects] = advance(OPEN, { type: "goodbye", retryAfterMs: 500, jitter: 0.5 });

    expect(effects).toContainEqual({ type: "wait", ms: 1_000 });
  });

  it("doubles its pauses up to fifteen seconds, with full jitter", () => {
    expect([0, 1, 2, 10].map((failures) => backoffMs(failures, 0.5))).toEqual([
      150, 300, 600, 7_500,
    ]);
    expect(backoffMs(10, 0)).toBe(0);
  });

  it("owes exactly one hang-up between two dials, whatever happens", () => {
    const events: ConnectionEvent[] = [
      { type: "wanted" },
      { type: "unwanted" },
      { type: "opened" },
      { type: "welcomed", at: 0, session: "s", identity: null },
      LOST,
      { type: "goodbye", retryAfterMs: 0, jitter: 0 },
      { type: "due" },
      { type: "woken" },
    ];
    let seed = 7;
    const draw = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % events.length;
    };
    let state: ConnectionState = IDLE;
    let dialled = false;
    for (let step = 0; step < 20_000; step += 1) {
      const [next, effects] = advance(state, events[draw()] as ConnectionEvent);
      for (const effect of effects) {
        if (effect.type === "dial") expect(dialled).toBe(false);
        if (effect.type === "dial") dialled = true;
        if (effect.type === "hang-up") dialled = false;
      }
      state = next;
    }
  });
});

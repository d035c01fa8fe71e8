/**
 * Whatever the network does to the frames, the view ends as the server has it, and on the
 * way there nothing ever stands twice. Seeded; a failure names its schedule.
 */

import { describe, expect, it } from "vitest";
import { platform } from "../../src/core/environment.js";
import type { Delta, Message, ServerFrame, Snapshot, Token } from "../../src/core/index.js";
import { liveTurns } from "../../src/core/live-text.js";
import { Subscription } from "../../src/core/subscription.js";
import { aMessage, aToken } from "../support/builders.js";
import { dice } from "../support/dice.js";
import { FIRST_SEED, playAll, schedules } from "../support/schedules.js";

const SCHEDULES = schedules(2_000);
const COMMITS = 12;

/** The server's side of one subscription, and a line to it that loses, doubles and reorders. */
class World {
  readonly rows: { version: number; row: Message }[] = [];
  version = 0;
  spoken = "";
  readonly line: (Snapshot | Delta | Token)[] = [];
  readonly subscription: Subscription;
  #cursor: number | undefined;

  constructor() {
    this.subscription = new Subscription(
      "m",
      "agents:agentMessages",
      { key: "t-1" },
      platform({ after: () => () => {} }),
      (frame) => {
        if (frame.type === "unsubscribe") this.#cursor = undefined;
        if (frame.type === "subscribe") this.#answer(frame.cursor);
        return true;
      },
    );
  }

  commit(row: Message): void {
    this.version += 1;
    const at = this.rows.findIndex((one) => one.row.id === row.id);
    this.rows.splice(at < 0 ? this.rows.length : at, at < 0 ? 0 : 1, {
      version: this.version,
      row,
    });
    if (row.role === "assistant") this.spoken = "";
    this.#push([row]);
  }

  speak(turn: number, text: string): void {
    this.line.push(aToken({ turn, offset: this.spoken.length, text }));
    this.spoken += text;
  }

  /** The socket breaks: what was on its way is gone, and everything is asked for again. */
  reconnect(): void {
    this.line.length = 0;
    this.#cursor = undefined;
    this.subscription.ask();
  }

  #answer(cursor: string | undefined): void {
    if (cursor === undefined) {
      const value = this.rows.map(({ row }) => row);
      this.line.push({ type: "snapshot", id: "m", cursor: `a.${this.version}`, value });
      this.#cursor = this.version;
    } else {
      this.#cursor = Number(cursor.split(".")[1]);
      const since = this.#cursor;
      this.#push(this.rows.filter(({ version }) => version > since).map(({ row }) => row));
    }
    const turn = this.rows.filter(({ row }) => row.role === "assistant").length;
    if (this.spoken !== "") this.line.push(aToken({ turn, text: this.spoken }));
  }

  #push(rows: readonly Message[]): void {
    if (this.#cursor === undefined) return;
    this.line.push({
      type: "delta",
      id: "m",
      from: `a.${this.#cursor}`,
      cursor: `a.${this.version}`,
      ops: rows.map((row) => ({ op: "upsert", row })),
    });
    this.#cursor = this.version;
  }
}

function shown(world: World): readonly Message[] {
  return (world.subscription.state.get().view.value as readonly Message[] | undefined) ?? [];
}

function play(seed: number): void {
  const roll = dice(seed);
  const world = new World();
  const check = () => {
    const rows = shown(world);
    const live = liveTurns(world.subscription.state.get().live, () => false);
    const steps = rows.flatMap((row) => (row.role === "assistant" ? [row.turn] : []));
    const all = [...steps, ...live.map(({ turn }) => turn)];
    expect(new Set(all).size, "a step stands twice").toBe(all.length);
    const ids = rows.map(({ id }) => id);
    expect(new Set(ids).size, "a message stands twice").toBe(ids.length);
  };
  const deliver = (frame: ServerFrame | undefined) => {
    if (frame?.type === "snapshot" || frame?.type === "delta" || frame?.type === "token") {
      world.subscription.receive(frame);
      check();
    }
  };
  world.subscription.ask();
  for (let turn = 0; turn < COMMITS; turn += 1) {
    for (let piece = roll(4); piece > 0; piece -= 1) world.speak(turn, "ab".repeat(1 + roll(3)));
    world.commit(aMessage({ seq: turn * 2 + 1, turn, id: `a-${turn}` }));
    const open = aMessage({
      seq: turn * 2 + 2,
      turn,
      id: `t-${turn}`,
      role: "tool",
      status: "open",
    });
    world.commit(open);
    world.commit({ ...open, status: "complete" });
    for (let moves = roll(8); moves > 0; moves -= 1) {
      const luck = roll(20);
      if (luck === 0) world.reconnect();
      else if (luck === 1) world.line.shift();
      else if (luck === 2) deliver(world.line[roll(world.line.length || 1)]);
      else if (luck === 3) deliver(world.line.splice(roll(world.line.length || 1), 1)[0]);
      else deliver(world.line.shift());
    }
  }
  world.reconnect();
  while (world.line.length > 0) deliver(world.line.shift());

  expect(shown(world)).toEqual(world.rows.map(({ row }) => row));
  expect(world.subscription.state.get().live.turns).toEqual([]);
}

describe("a subscription", () => {
  it(`SUB-03 B49 B51 converges over ${SCHEDULES} schedules of loss, doubling, reordering and cuts from seed ${FIRST_SEED}`, async () => {
    await playAll(SCHEDULES, play);
  }, 3_600_000);
});

/**
 * Whatever becomes of calls and frames, a page with optimistic rows ends as the server has it;
 * and on the way there none of its rows is ever twice on show, or gone for a moment. Seeded; a
 * failure names its schedule.
 */

import { describe, expect, it } from "vitest";
import { mutation } from "../../src/core/index.js";
import { dice } from "../support/dice.js";
import { anOrder, type Order, orders } from "../support/orders.js";
import { FIRST_SEED, playAll, schedules } from "../support/schedules.js";
import { Storm } from "../support/storm.js";

const SCHEDULES = schedules(200);
const MOVES = 80;

const place = mutation<{ row: Order }, null>("orders:place");
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function play(seed: number): Promise<void> {
  const roll = dice(seed);
  const storm = new Storm(() => roll(6) === 0);
  const list = storm.client.subscription(orders.list, {});
  const mine: string[] = [];
  const look = () => {
    const shown = (list.get().value ?? []).map(({ id }) => id);
    expect(new Set(shown).size, "a row stands twice").toBe(shown.length);
    const gone = mine.filter((id) => !shown.includes(id) && !storm.refused.has(id));
    expect(gone, "a row is gone").toEqual([]);
  };
  list.subscribe(look);
  const calls: Promise<unknown>[] = [];
  const add = (id: string) => {
    const row = anOrder("tea", id);
    mine.push(id);
    const call = storm.client.mutate(
      place,
      { row },
      {
        optimistic(local) {
          const before = local.get(orders.list, {}) ?? [];
          if (before.some((one) => one.id === id)) return;
          local.set(orders.list, {}, [...before, row]);
        },
      },
    );
    calls.push(call.catch(() => {}));
  };
  const settle = async () => {
    for (let round = 0; round < 12; round += 1) {
      storm.hear();
      storm.say(9);
      for (let frame = 0; frame < 9; frame += 1) storm.deliver();
      storm.pass(1_000);
      await turn();
    }
  };
  await settle();
  for (let move = 0; move < MOVES; move += 1) {
    const luck = roll(24);
    if (luck < 3) add(`m-${move}`);
    else if (luck === 3) storm.commit(anOrder("jam", `o-${move}`));
    else if (luck === 4) storm.cut();
    else if (luck < 8) storm.pass(roll(80));
    else if (luck < 12) storm.hear();
    else if (luck < 16) storm.say(roll(3));
    else storm.deliver();
    look();
    if (roll(2) === 0) await turn();
  }
  for (let times = 0; times < 8; times += 1) await settle();
  await Promise.all(calls);

  expect(list.get().value).toEqual(storm.rows);
  expect(list.get().error).toBeUndefined();
  storm.client.close();
}

describe("optimistic mutations", () => {
  it(`converge over ${SCHEDULES} schedules of delays, refusals, others' writes and cuts from seed ${FIRST_SEED}`, async () => {
    await playAll(SCHEDULES, play);
  }, 3_600_000);
});

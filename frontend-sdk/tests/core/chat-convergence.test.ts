/**
 * Whatever happens to the frames, to the runs and to the branches, every tab ends as the server
 * has it, and on the way there nothing ever stands twice. Seeded; a failure names its schedule.
 */

import { describe, expect, it } from "vitest";
import { ChatStorm, type Tab, turn } from "../support/chat-storm.js";
import { dice } from "../support/dice.js";
import { FIRST_SEED, playAll, schedules } from "../support/schedules.js";

const SCHEDULES = schedules(500);
const MOVES = 120;

async function play(seed: number): Promise<void> {
  const roll = dice(seed);
  const storm = new ChatStorm(roll);
  const look = (tab: Tab) => {
    const fault = storm.faultOf(tab);
    if (fault !== undefined) throw new Error(fault);
  };
  let failed: unknown;
  for (const tab of storm.tabs) {
    tab.chat.state.subscribe(() => {
      try {
        look(tab);
      } catch (thrown) {
        failed ??= thrown;
      }
    });
  }
  for (let move = 0; move < MOVES; move += 1) {
    const tab = storm.tabs[roll(2)] as Tab;
    const luck = roll(12);
    if (luck === 0) storm.personMoves(tab);
    else if (luck < 4) storm.serverMoves();
    else storm.networkMoves(tab);
    if (roll(3) === 0) await turn();
    look(tab);
    if (failed) throw failed;
  }
  await storm.calm();
  if (failed) throw failed;

  const { talk } = storm;
  const rows = talk.rows(talk.selected);
  const { status } = talk.view(talk.selected);
  for (const { chat } of storm.tabs) {
    chat.dismissError();
    const state = chat.state.get();
    const count = state.messages.length;
    expect(state.messages, "the end of what is stored").toEqual(rows.slice(rows.length - count));
    expect(count).toBeGreaterThanOrEqual(Math.min(rows.length, storm.gateway.page));
    expect(state).toMatchObject({
      status: rows.length > 0 ? status : expect.stringMatching(/idle|completed/),
      pending: false,
      live: [],
      streamingText: "",
      pendingApprovals: [],
      error: undefined,
      hasOlder: count < rows.length,
    });
  }
  for (const { key } of talk.branches) {
    const sent = talk.rows(key).flatMap(({ dedupe }) => dedupe ?? []);
    expect(new Set(sent).size, "each send took effect once").toBe(sent.length);
  }
  storm.close();
}

describe("a chat in two tabs", () => {
  it(`SUB-03 SDK-06 B48 B49 B51 B98 converges over ${SCHEDULES} schedules from seed ${FIRST_SEED}`, async () => {
    await playAll(SCHEDULES, play);
  }, 3_600_000);
});

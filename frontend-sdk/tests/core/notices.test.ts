/** How often who watches is told of tokens: virtual time, in which drawing takes some. */

import { expect, it } from "vitest";
import { platform } from "../../src/core/environment.js";
import { Subscription } from "../../src/core/subscription.js";
import { aToken } from "../support/builders.js";
import { VirtualTime } from "../support/virtual.js";

/** Say a token each millisecond that the page has for it; return how much of the time it drew. */
function burst(tokens: number, drawMs: (length: number) => number) {
  const time = new VirtualTime();
  const environment = platform({ now: time.now, after: time.after });
  const subscription = new Subscription("m", "agents:agentMessages", {}, environment, () => true);
  let drawn = 0;
  let drawnMs = 0;
  let busyMs = 0;
  subscription.state.subscribe(() => {
    drawn += 1;
    busyMs = drawMs(subscription.state.get().live.turns[0]?.parts[0]?.length ?? 0);
  });
  for (let offset = 0; offset < tokens; offset += 1) {
    subscription.receive(aToken({ offset, text: "x" }));
    drawnMs += busyMs;
    time.pass(1 + busyMs);
    busyMs = 0;
  }
  time.pass(1_000);
  const [turn] = subscription.state.get().live.turns;
  return { drawn, share: drawnMs / time.now(), length: turn?.parts[0]?.length };
}

it("SDK-10 tells at each frame of a screen as long as drawing is quick", () => {
  const { drawn, length } = burst(1_600, () => 0);

  expect(drawn).toBeGreaterThan(90);
  expect(length).toBe(1_600);
});

it("B52 leaves a page that draws slowly more time for all else than it needs for drawing", () => {
  const { drawn, share, length } = burst(3_000, (units) => units / 30);

  expect(share).toBeLessThan(0.5);
  expect(drawn).toBeGreaterThan(20);
  expect(length).toBe(3_000);
});

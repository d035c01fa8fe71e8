/** Which ways on there are, and where: over random trees, against the messages themselves. */

import { describe, expect, it } from "vitest";
import { alternatives } from "../../src/core/branches.js";
import type { BranchView } from "../../src/core/index.js";
import { aMessage } from "../support/builders.js";
import { dice } from "../support/dice.js";

const AT = "2026-11-30T03:30:00Z";

/** A thread, and of each of its messages the thread that it was first said in. */
interface Told {
  readonly view: BranchView;
  readonly said: string[];
}

/** Begin a branch of `from` with its first `shared` messages, where the server would hang it. */
function branch(all: readonly Told[], from: Told, shared: number, length: number): Told {
  let above = from;
  while (shared <= above.view.shared) {
    const parent = all.find(({ view }) => view.key === above.view.parent);
    if (parent === undefined) break;
    above = parent;
  }
  const key = `b-${all.length}`;
  const own = Array.from({ length }, () => key);
  return {
    view: { key, parent: above.view.key, shared, createdAt: AT },
    said: [...from.said.slice(0, shared), ...own],
  };
}

/** What one would find by reading all threads: where do those that agree so far go apart? */
function byReading(all: readonly Told[], shown: Told) {
  return shown.said.flatMap((mine, at) => {
    const agree = all.filter(
      ({ said }) => said.slice(0, at).join() === shown.said.slice(0, at).join(),
    );
    const keys = [...new Set(agree.flatMap(({ said }) => said[at] ?? []))];
    keys.sort((a, b) => order(all, a) - order(all, b));
    return keys.length < 2
      ? []
      : [{ messageId: `m-${at + 1}`, index: keys.indexOf(mine), count: keys.length, keys }];
  });
}

function order(all: readonly Told[], key: string): number {
  return all.findIndex(({ view }) => view.key === key);
}

function found(all: readonly Told[], shown: Told, from = 1) {
  const list = all.map(({ view }) => view);
  const rows = shown.said.map((_, index) => aMessage({ seq: index + 1 })).slice(from - 1);
  return alternatives({ selected: "any", list }, shown.view.key, rows);
}

describe("the alternatives of a branch", () => {
  it("B97 are those that reading all branches would find, over 400 trees", () => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const roll = dice(seed);
      const said = Array.from({ length: 1 + roll(6) }, () => "root");
      const all: Told[] = [{ view: { key: "root", parent: null, shared: 0, createdAt: AT }, said }];
      for (let count = roll(12); count > 0; count -= 1) {
        const from = all[roll(all.length)] as Told;
        all.push(branch(all, from, roll(from.said.length), 1 + roll(5)));
      }
      for (const shown of all) {
        const expected = byReading(all, shown);
        expect(found(all, shown), `tree ${seed}, ${shown.view.key}`).toEqual(expected);
        for (const { index, keys } of expected) expect(keys[index]).toBeDefined();
      }
    }
  });

  it("go from the first message on, and are told of those that are loaded", () => {
    const root: Told = {
      view: { key: "root", parent: null, shared: 0, createdAt: AT },
      said: ["root", "root", "root", "root"],
    };
    const first = branch([root], root, 0, 4);
    const third = branch([root, first], first, 2, 2);
    const all = [root, first, third];

    expect(found(all, third)).toEqual([
      { messageId: "m-1", index: 1, count: 2, keys: ["root", "b-1"] },
      { messageId: "m-3", index: 1, count: 2, keys: ["b-1", "b-2"] },
    ]);
    expect(found(all, third, 2).map(({ messageId }) => messageId)).toEqual(["m-3"]);
    expect(found(all, root).map(({ messageId }) => messageId)).toEqual(["m-1"]);
  });

  it("are none, and the same none, while a conversation has no branches", () => {
    const none = alternatives(undefined, "root", [aMessage({ seq: 1 })]);

    expect(none).toEqual([]);
    expect(alternatives(undefined, "root", [])).toBe(none);
  });
});

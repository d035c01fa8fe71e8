/** Optimistic layers over the server's values: the laws, over drawn histories. */

import { describe, expect, it } from "vitest";
import { canonicalId, query } from "../../src/core/index.js";
import { fold, type Layer, Layers, type LocalStore, type Update } from "../../src/core/layers.js";
import { batch } from "../../src/core/store.js";
import { dice } from "../support/dice.js";

const HISTORIES = 500;
const MOVES = 30;

const numbers = query<{ name: string }, readonly number[]>("test:numbers");
const NAMES = ["a", "b", "c"];
const keyOf = (name: string) => canonicalId(numbers, { name });

class Server {
  readonly values = new Map<string, unknown>();
  readonly thrown: unknown[] = [];
  readonly layers = new Layers(
    (key) => this.values.get(key),
    (thrown) => this.thrown.push(thrown),
  );

  set(name: string, value: readonly number[] | undefined): void {
    this.values.set(keyOf(name), value);
    this.layers.changed();
  }

  shown(name: string): unknown {
    return this.layers.get().get(keyOf(name)) ?? this.values.get(keyOf(name));
  }
}

function append(name: string, number: number): Update {
  return (local) => {
    const before = local.get(numbers, { name });
    if (before !== undefined) local.set(numbers, { name }, [...before, number]);
  };
}

/** Change one by what another is: layers and queries depend on one another. */
function copy(from: string, to: string): Update {
  return (local) => local.set(numbers, { name: to }, local.get(numbers, { name: from }) ?? [0]);
}

/** The plainest reading of the law: do all of it, in order, on a copy of the server's values. */
function model(server: Server, updates: readonly Update[]): unknown[] {
  const values = new Map(server.values);
  const local: LocalStore = {
    get: (ref, args) => values.get(canonicalId(ref, args as never)) as never,
    set: (ref, args, value) => values.set(canonicalId(ref, args as never), value),
  };
  for (const update of updates) update(local);
  return NAMES.map((name) => values.get(keyOf(name)));
}

function play(seed: number): void {
  const roll = dice(seed);
  const server = new Server();
  const name = () => NAMES[roll(NAMES.length)] as string;
  const up: { update: Update; drop: () => void }[] = [];
  for (let move = 0; move < MOVES; move += 1) {
    const luck = roll(5);
    if (luck === 0) server.set(name(), roll(6) === 0 ? undefined : [move]);
    else if (luck === 1) up.splice(roll(up.length || 1), 1)[0]?.drop();
    else {
      const update = luck === 2 ? copy(name(), name()) : append(name(), move);
      up.push({ update, drop: server.layers.add(update) });
    }
    expect(
      NAMES.map((one) => server.shown(one)),
      `history ${seed}`,
    ).toEqual(
      model(
        server,
        up.map(({ update }) => update),
      ),
    );
  }
  while (up.length > 0) up.splice(roll(up.length), 1)[0]?.drop();

  expect(server.layers.get().size, `history ${seed}`).toBe(0);
}

describe("layers", () => {
  it(`are all updates in order over the server's values, and nothing when all are gone, over ${HISTORIES} histories`, () => {
    for (let seed = 1; seed <= HISTORIES; seed += 1) play(seed);
  });

  it("run again only when a value changes that they have read", () => {
    const server = new Server();
    server.set("a", [1]);
    server.set("b", [1]);
    let runs = 0;
    server.layers.add((local) => {
      runs += 1;
      append("a", 2)(local);
    });

    server.set("b", [2]);
    server.shown("b");
    server.shown("a");
    expect(runs).toBe(1);

    server.set("a", [5]);
    expect(server.shown("a")).toEqual([5, 2]);
    expect(runs).toBe(2);
  });

  it("keep a value the same object while it is equal, so that nothing is drawn again", () => {
    const server = new Server();
    server.set("a", [1]);
    server.set("b", [1]);
    server.layers.add(append("a", 2));
    const before = server.shown("a");

    const drop = server.layers.add(append("b", 2));
    server.set("b", [7]);
    drop();

    expect(server.shown("a")).toBe(before);
  });

  it("tell of two queries that one update changes at once: who is told of one sees both", () => {
    const server = new Server();
    server.set("a", [1]);
    server.set("b", [1]);
    const seen: unknown[] = [];
    server.layers.subscribe(() => seen.push([server.shown("a"), server.shown("b")]));

    const drop = server.layers.add((local) => {
      append("a", 2)(local);
      append("b", 2)(local);
    });
    batch(() => {
      drop();
      server.set("a", [1, 9]);
      server.set("b", [1, 9]);
    });

    expect(seen).toEqual([
      [
        [1, 2],
        [1, 2],
      ],
      [
        [1, 9],
        [1, 9],
      ],
    ]);
  });

  it("may be the same function twice", () => {
    const server = new Server();
    server.set("a", []);
    const update = append("a", 1);
    const drop = server.layers.add(update);
    server.layers.add(update);
    expect(server.shown("a")).toEqual([1, 1]);

    drop();

    expect(server.shown("a")).toEqual([1]);
  });
});

describe("an update that throws", () => {
  const broken = new Error("there is no first");
  /** Writes, and then finds nothing. */
  const first: Update = (local) => {
    local.set(numbers, { name: "b" }, [0]);
    const [one] = local.get(numbers, { name: "a" }) ?? [];
    if (one === undefined) throw broken;
    local.set(numbers, { name: "a" }, [one]);
  };

  it("at once is no layer, and says so to its caller alone", () => {
    const server = new Server();
    server.set("a", []);
    server.set("c", []);
    server.layers.add(append("c", 1));
    const before = server.layers.get();

    expect(() => server.layers.add(first)).toThrow(broken);
    expect(server.layers.get()).toBe(before);
    expect(server.thrown).toEqual([]);
  });

  it("later is given up whole and reported once; the others stay", () => {
    const server = new Server();
    server.set("a", [1, 2]);
    const drop = server.layers.add(first);
    server.layers.add(append("a", 3));
    expect(server.shown("a")).toEqual([1, 3]);

    server.set("a", []);
    expect(server.shown("a")).toEqual([3]);
    expect(server.shown("b")).toBeUndefined();
    server.set("a", [8, 9]);
    drop();

    expect(server.shown("a")).toEqual([8, 9, 3]);
    expect(server.thrown).toEqual([broken]);
  });
});

describe("fold", () => {
  it("is pure: the same layers over the same values give the same, and change nothing", () => {
    const values = new Map([[keyOf("a"), Object.freeze([1])]]);
    const layers: Layer[] = [{ update: append("a", 2) }, { update: copy("a", "b") }];
    const once = () =>
      fold(
        layers,
        (key) => values.get(key),
        new Map(),
        () => {},
      );

    expect(once()).toEqual(once());
    expect(values).toEqual(new Map([[keyOf("a"), [1]]]));
  });

  it("takes nothing that an update writes after it has returned", async () => {
    let late = () => {};
    const update: Update = (local) => {
      late = () => local.set(numbers, { name: "a" }, [1]);
    };
    const { values } = fold(
      [{ update }],
      () => undefined,
      new Map(),
      () => {},
    );
    late();

    expect(values.size).toBe(0);
  });
});

import { describe, expect, it, vi } from "vitest";
import { batch, Cell, derive } from "../../src/core/store.js";

describe("a readable", () => {
  it("tells of a change, and of nothing else", () => {
    const cell = new Cell(1);
    let told = 0;
    const stop = cell.subscribe(() => {
      told += 1;
    });

    cell.set(1);
    cell.set(2);
    stop();
    cell.set(3);

    expect(told).toBe(1);
  });

  it("that is derived is the same object until something it reads changes", () => {
    const [a, b] = [new Cell(1), new Cell(2)];
    const sum = derive([a, b], (x, y) => ({ sum: x + y }));
    const before = sum.get();

    expect(sum.get()).toBe(before);
    b.set(5);
    expect(sum.get()).toEqual({ sum: 6 });
  });

  it("that is derived stays silent when the outcome is the same", () => {
    const cell = new Cell(1);
    const odd = derive([cell], (value) => value % 2 === 1);
    let told = 0;
    odd.subscribe(() => {
      told += 1;
    });

    cell.set(3);
    cell.set(4);

    expect(told).toBe(1);
  });

  it("goes on telling the others when one throws, in a batch too", () => {
    const uncaught: (() => void)[] = [];
    vi.stubGlobal("queueMicrotask", (then: () => void) => uncaught.push(then));
    const [a, b] = [new Cell(1), new Cell(1)];
    const told: string[] = [];
    a.subscribe(() => {
      throw new Error("mine");
    });
    a.subscribe(() => told.push("a"));
    b.subscribe(() => told.push("b"));

    a.set(2);
    batch(() => {
      a.set(3);
      b.set(3);
    });
    vi.unstubAllGlobals();

    expect(told).toEqual(["a", "a", "b"]);
    expect(uncaught).toHaveLength(2);
    expect(uncaught[0]).toThrow("mine");
  });

  it("goes on telling the others when one stops in the middle", () => {
    const cell = new Cell(1);
    const told: string[] = [];
    const stop = cell.subscribe(() => {
      told.push("first");
      stop();
    });
    cell.subscribe(() => told.push("second"));

    cell.set(2);
    cell.set(3);

    expect(told).toEqual(["first", "second", "second"]);
  });
});

/**
 * The seam between the core and every framework: a value that can be read and watched.
 *
 * Law: `get` returns the same object until the value changes, so `===` means "no change".
 */

export interface Readable<T> {
  /** The current value. The same object until it changes. */
  get(): T;
  /** Call `listener` after each change; returns the function that stops it. */
  subscribe(listener: () => void): () => void;
}

let held: Set<Cell<unknown>> | undefined;

/** Grows whenever anything may have changed: what was computed since need not be looked at again. */
let moment = 0;

/** Say that a value has changed which is in no `Cell`. */
export function touch(): void {
  moment += 1;
}

/** Do `change`, then tell of each value that it changed once: who is told sees all of it. */
export function batch(change: () => void): void {
  if (held !== undefined) {
    change();
    return;
  }
  const cells = new Set<Cell<unknown>>();
  held = cells;
  try {
    change();
  } finally {
    held = undefined;
    for (const cell of cells) cell.notify();
  }
}

/** A value with one writer. Methods are bound, so that they can be handed on as they are. */
export class Cell<T> implements Readable<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    // A wrapper, so that the same function subscribed twice is two subscriptions.
    const own = () => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  };

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.put(value);
    this.notify();
  }

  /** Change the value and leave the telling to a later `notify`. */
  put(value: T): void {
    this.#value = value;
    touch();
  }

  notify(): void {
    if (held !== undefined) {
      held.add(this as Cell<unknown>);
      return;
    }
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (thrown) {
        // It is uncaught, as what an event handler throws; the others are told all the same.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }
}

type Values<Inputs extends readonly Readable<unknown>[]> = {
  readonly [Index in keyof Inputs]: Inputs[Index] extends Readable<infer T> ? T : never;
};

/**
 * Return a value computed from others; computed again only when one of them changed,
 * and announced only when the outcome did.
 */
export function derive<const Inputs extends readonly Readable<unknown>[], T>(
  inputs: Inputs,
  compute: (...values: Values<Inputs>) => T,
): Readable<T> {
  let looked = -1;
  let seen: readonly unknown[] | undefined;
  let value: T;
  const get = (): T => {
    if (looked === moment) return value;
    const at = moment;
    const now = inputs.map((input) => input.get());
    if (seen === undefined || now.some((one, index) => !Object.is(one, seen?.[index]))) {
      value = compute(...(now as unknown as Values<Inputs>));
      seen = now;
    }
    // An input may change as it is read; then this is looked at again.
    looked = at;
    return value;
  };
  const subscribe = (listener: () => void): (() => void) => {
    let told = get();
    const check = () => {
      const next = get();
      if (Object.is(next, told)) return;
      told = next;
      listener();
    };
    const stops = inputs.map((input) => input.subscribe(check));
    return () => {
      for (const stop of stops) stop();
    };
  };
  return { get, subscribe };
}

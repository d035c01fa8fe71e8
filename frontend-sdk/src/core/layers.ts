/**
 * What calls on their way are expected to change, laid over what the server has said.
 *
 * `fold` is pure: it lays the updates over the server's values, in the order of the calls.
 * Nothing is ever patched.  When a value of the server's that an update has read changes,
 * and when a call has its answer, all is laid anew; so what remains after the last answer is
 * the server's word alone, in whatever order the answers came.
 *
 * An update that throws changes nothing.  If it does so at once, nothing is sent; later, on
 * other values, it is given up and reported, and its call goes on.
 */

import type { QueryRef } from "./api.js";
import { canonicalId } from "./canonical.js";
import { Cell, type Readable } from "./store.js";
import { same } from "./thread-state.js";

/** The answers of queries, as an optimistic update sees and changes them. */
export interface LocalStore {
  /** What the query answers; undefined if nobody watches it, or it has no answer yet. */
  get<Args, Result>(query: QueryRef<Args, Result>, args: Args): Result | undefined;
  /** Let the query answer `value`, a new object: what `get` returned must not be changed. */
  set<Args, Result>(query: QueryRef<Args, Result>, args: Args, value: Result): void;
}

/** Pure: it may run many times, over different values. */
export type Update = (local: LocalStore) => void;

/** Answers by the canonical id of their query. */
export type Values = ReadonlyMap<string, unknown>;

/** Compared by identity: one update may be laid twice. */
export interface Layer {
  readonly update: Update;
}

export interface Folded {
  /** What shows in place of the server's values. */
  readonly values: Values;
  /** The server's values that this was made from. */
  readonly read: Values;
}

type Peek = (key: string) => unknown;

/**
 * Return `layers` laid over the server's values. A value equal to that in `before` is that.
 * A layer that throws is told to `broken`, and changes nothing.
 */
export function fold(
  layers: Iterable<Layer>,
  server: Peek,
  before: Values,
  broken: (layer: Layer, thrown: unknown) => void,
): Folded {
  const values = new Map<string, unknown>();
  const read = new Map<string, unknown>();
  for (const layer of layers) {
    const own = new Map<string, unknown>();
    try {
      layer.update({
        get(query, args) {
          const key = canonicalId(query, args as never);
          for (const map of [own, values]) if (map.has(key)) return map.get(key) as never;
          read.set(key, server(key));
          return read.get(key) as never;
        },
        set(query, args, value) {
          own.set(canonicalId(query, args as never), value);
        },
      });
      for (const [key, value] of own) {
        values.set(key, same(before.get(key), value) ? before.get(key) : value);
      }
    } catch (thrown) {
      broken(layer, thrown);
    }
  }
  return { values, read };
}

/** The layers of a client. */
export class Layers implements Readable<Values> {
  readonly #layers = new Set<Layer>();
  readonly #folded = new Cell<Folded>({ values: new Map(), read: new Map() });
  readonly #server: Peek;
  readonly #report: (thrown: unknown) => void;

  constructor(server: Peek, report: (thrown: unknown) => void) {
    this.#server = server;
    this.#report = report;
  }

  readonly get = (): Values => {
    const { read } = this.#folded.get();
    if ([...read].some(([key, value]) => this.#server(key) !== value)) this.#fold();
    return this.#folded.get().values;
  };

  readonly subscribe = this.#folded.subscribe;

  /** Lay an update on top; returns the function that takes it away. Throws what it throws. */
  add(update: Update): () => void {
    const layer = { update };
    this.#layers.add(layer);
    this.#fold(layer);
    this.changed();
    return () => {
      this.#layers.delete(layer);
      this.#fold();
      this.#folded.notify();
    };
  }

  /** Tell those who watch that the server's values may have changed. */
  changed(): void {
    if (this.#layers.size > 0) this.#folded.notify();
  }

  #fold(added?: Layer): void {
    const { values } = this.#folded.get();
    const folded = fold(this.#layers, this.#server, values, (layer, thrown) => {
      this.#layers.delete(layer);
      if (layer === added) throw thrown;
      this.#report(thrown);
    });
    this.#folded.put(folded);
  }
}

/**
 * The bridge: a `Readable` of the core as a store, and as values that runes follow.
 *
 * Law: what is read is computed when it is read, from the `Readable` of that moment.  So when
 * another thread is shown, its values are there in the same step.  What nobody reads is not
 * watched, and nothing is on a server.
 */

import { createSubscriber } from "svelte/reactivity";
import { type Readable as Store, toStore } from "svelte/store";
import type { Readable } from "../core/index.js";

export type MaybeGetter<T> = T | (() => T);

/** The same value for every kind of component: `$shown`, or `shown.current` where runes are. */
export interface Shown<T> extends Store<T> {
  readonly current: T;
}

/** Read options that may be given as they are or as what returns them. */
export function read<T>(given: MaybeGetter<T>): T {
  return typeof given === "function" ? (given as () => T)() : given;
}

/** Return the value of `readable` as a store; `target` is made that store if it is given. */
export function fromReadable<T, Target extends object = object>(
  readable: MaybeGetter<Readable<T>>,
  target = {} as Target,
): Target & Shown<T> {
  const get = follow(readable, (value) => value);
  const subscribe: Store<T>["subscribe"] = (...told) => toStore(get).subscribe(...told);
  Object.defineProperties(target, { current: { get }, subscribe: { value: subscribe } });
  return target as Target & Shown<T>;
}

/**
 * As `fromReadable`, of an object that always has the same properties: with those as properties
 * of the target as well, so that only what reads one runs again when that one changes.
 */
export function fromFields<T extends object, Target extends object = object>(
  readable: MaybeGetter<Readable<T>>,
  target = {} as Target,
): Target & T & Shown<T> {
  const store = fromReadable(readable, target);
  for (const name of Object.keys(read(readable).get()) as (keyof T)[]) {
    const get = follow(readable, (value) => value[name]);
    Object.defineProperty(store, name, { get, enumerable: true });
  }
  return store as Target & T & Shown<T>;
}

/** Return what reads a part of a value such that the effect that reads it runs when it changes. */
function follow<T, Part>(source: MaybeGetter<Readable<T>>, part: (value: T) => Part): () => Part {
  let known: Readable<T> | undefined;
  let track = () => {};
  return () => {
    const readable = read(source);
    if (readable !== known) {
      known = readable;
      track = createSubscriber((update) => {
        let told = part(readable.get());
        return readable.subscribe(() => {
          const now = part(readable.get());
          if (Object.is(now, told)) return;
          told = now;
          update();
        });
      });
    }
    track();
    return part(readable.get());
  };
}

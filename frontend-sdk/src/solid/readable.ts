/**
 * The bridge: a `Readable` of the core as signals.
 *
 * Law: what is read is computed when it is read, from the `Readable` of that moment.  So when
 * another thread is shown, its values are there in the same step, before any effect has run.
 */

import {
  type Accessor,
  createMemo,
  createRenderEffect,
  createSignal,
  onCleanup,
  untrack,
} from "solid-js";
import { isServer } from "solid-js/web";
import type { Readable } from "../core/index.js";

export type MaybeAccessor<T> = T | Accessor<T>;

/** Read options that may be given as they are or as what returns them. */
export function access<T>(given: MaybeAccessor<T>): T {
  return typeof given === "function" ? (given as Accessor<T>)() : given;
}

/** The value of `readable`, watched until its owner is disposed of. On a server it is only read. */
export function createReadable<T>(readable: MaybeAccessor<Readable<T>>): Accessor<T> {
  return createMemo(followed(readable));
}

/**
 * Return the properties of the value of `readable`, which always has the same, as getters (of
 * `target` if it is given): each changes only if that property does.
 */
export function createFields<T extends object, Target extends object = object>(
  readable: MaybeAccessor<Readable<T>>,
  target = {} as Target,
): T & Target {
  const value = followed(readable);
  for (const name of Object.keys(untrack(value)) as (keyof T)[]) {
    Object.defineProperty(target, name, { get: createMemo(() => value()[name]), enumerable: true });
  }
  return target as T & Target;
}

/** Return what reads the value of `readable` such that what reads it runs when it changes. */
function followed<T>(readable: MaybeAccessor<Readable<T>>): Accessor<T> {
  const source = createMemo(() => access(readable));
  const [changes, changed] = createSignal(undefined, { equals: false });
  // It runs as what draws does: through a transition the old one is watched, as it is on show.
  const watch = (again?: boolean) => {
    onCleanup(source().subscribe(changed));
    // What is the same before a transition and after it has missed what changed in between.
    if (again) changed();
    return true;
  };
  if (!isServer) createRenderEffect(watch);
  return () => {
    changes();
    return source().get();
  };
}

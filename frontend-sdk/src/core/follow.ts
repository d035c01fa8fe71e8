/** Show what a name stands for; when it comes to stand for another thing, the old one until that is there. */

import type { Readable } from "./store.js";

/**
 * Return what `key` names. When it names another, that is shown as soon as it is `ready`, or
 * at once if nothing was shown before; only what is shown and what is waited for is watched.
 */
export function follow<T>(
  key: Readable<string>,
  open: (key: string) => Readable<T>,
  ready: (value: T) => boolean,
): Readable<T> {
  const opened = new Map<string, Readable<T>>();
  const at = (name: string): Readable<T> => {
    const known = opened.get(name) ?? open(name);
    opened.set(name, known);
    return known;
  };
  let shown = key.get();
  let known = false;
  const get = (): T => {
    const wanted = key.get();
    if (!known || ready(at(wanted).get())) shown = wanted;
    const value = at(shown).get();
    known = ready(value);
    return value;
  };
  const subscribe = (listener: () => void): (() => void) => {
    const stops = new Map<string, () => void>();
    let told = get();
    const watch = () => {
      const names = [shown, key.get()];
      for (const name of names) {
        if (!stops.has(name)) stops.set(name, at(name).subscribe(check));
      }
      for (const [name, stop] of stops) {
        if (names.includes(name)) continue;
        stop();
        stops.delete(name);
      }
    };
    const check = () => {
      const value = get();
      watch();
      if (Object.is(value, told)) return;
      told = value;
      listener();
    };
    watch();
    // After what it names, which is asked for first.
    const stop = key.subscribe(check);
    return () => {
      stop();
      for (const one of stops.values()) one();
    };
  };
  return { get, subscribe };
}

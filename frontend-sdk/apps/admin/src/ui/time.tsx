/** Times as people say them, kept true while the page is open. */

import { type ReactNode, useSyncExternalStore } from "react";
import { ago, exact } from "./moments.js";

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function follow(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const one of [...listeners]) one();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Drawn again only when the words change. */
export function useWords(words: (now: number) => string): string {
  return useSyncExternalStore(follow, () => words(Date.now()));
}

/** Now, in steps of a second while `live`. */
export function useNow(live: boolean): number {
  const now = () => Math.floor(Date.now() / TICK_MS) * TICK_MS;
  return useSyncExternalStore(live ? follow : still, now);
}

function still(): () => void {
  return () => {};
}

export function Ago({ at }: { readonly at: string }): ReactNode {
  const words = useWords((now) => ago(Date.parse(at), now));
  return (
    <time dateTime={at} title={exact(at)}>
      {words}
    </time>
  );
}

/**
 * Which conversation is on show: its key is in the address, so a reload or another tab shows the
 * same one. Those that were begun here are kept in this browser.
 */

import type { Readable } from "ropewalk";

export interface Thread {
  readonly key: string;
  readonly title: string;
}

export interface Threads {
  /** The key of the one on show. */
  readonly shown: string;
  /** The newest first; the one on show is always among them. */
  readonly all: readonly Thread[];
}

const KEPT = "ropewalk.example.threads";
const listeners = new Set<() => void>();
let state = read();

addEventListener("hashchange", changed);
addEventListener("storage", changed);

/** Every framework's hooks can watch this, as they watch what is on the server. */
export const threads: Readable<Threads> = {
  get: () => state,
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

export function show(key: string): void {
  location.hash = key;
}

export function startNew(): void {
  show(newKey());
}

/** Keep a conversation in the list, under the first thing that was said in it. */
export function keep(key: string, title: string): void {
  const kept = stored();
  if (kept.some((thread) => thread.key === key)) return;
  localStorage.setItem(KEPT, JSON.stringify([{ key, title }, ...kept]));
  changed();
}

function changed(): void {
  state = read();
  for (const listener of listeners) listener();
}

function read(): Threads {
  if (location.hash.length < 2) history.replaceState(null, "", `#${newKey()}`);
  const shown = location.hash.slice(1);
  const kept = stored();
  const known = kept.some(({ key }) => key === shown);
  return { shown, all: known ? kept : [{ key: shown, title: "Untitled" }, ...kept] };
}

function stored(): readonly Thread[] {
  return JSON.parse(localStorage.getItem(KEPT) ?? "[]") as readonly Thread[];
}

/** A key is all that protects a thread without an owner: it must not be guessed. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

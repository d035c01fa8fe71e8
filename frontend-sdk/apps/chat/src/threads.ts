/** The threads in the sidebar: this browser's own, and those the server has of this person. */

import { useCallback, useEffect, useState } from "react";
import { AGENTS } from "./api.js";
import { freshToken } from "./session.js";

export interface ThreadEntry {
  readonly key: string;
  readonly title: string;
  /** Milliseconds since 1970. */
  readonly updatedAt: number;
}

const STORED = "ropewalk.threads";
const MOST = 100;

/** The list, and how to note that a thread was used. */
export function useThreads(): {
  readonly threads: readonly ThreadEntry[];
  readonly note: (key: string, title: string, updatedAt: number) => void;
} {
  const [threads, setThreads] = useState(stored);

  useEffect(() => {
    let gone = false;
    fromServer().then(
      (found) => !gone && setThreads((before) => merge(before, found)),
      // The list is a convenience: without it the page works with what the browser has.
      () => {},
    );
    return () => {
      gone = true;
    };
  }, []);

  useEffect(() => {
    const follow = (event: StorageEvent) => {
      if (event.key === STORED) setThreads((before) => merge(before, stored()));
    };
    window.addEventListener("storage", follow);
    return () => window.removeEventListener("storage", follow);
  }, []);

  const note = useCallback((key: string, title: string, updatedAt: number) => {
    setThreads((before) => {
      const known = before.find((entry) => entry.key === key);
      if (known?.title === title && known.updatedAt >= updatedAt) return before;
      const after = merge(before, [{ key, title, updatedAt }]);
      store(after);
      return after;
    });
  }, []);

  return { threads, note };
}

function merge(
  before: readonly ThreadEntry[],
  found: readonly ThreadEntry[],
): readonly ThreadEntry[] {
  const all = new Map(before.map((entry) => [entry.key, entry]));
  for (const entry of found) {
    const known = all.get(entry.key);
    if (known === undefined || entry.updatedAt >= known.updatedAt) all.set(entry.key, entry);
  }
  return [...all.values()].sort((a, b) => b.updatedAt - a.updatedAt).slice(0, MOST);
}

function stored(): readonly ThreadEntry[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(found) ? found.filter(isEntry) : [];
  } catch {
    return [];
  }
}

function store(threads: readonly ThreadEntry[]): void {
  try {
    localStorage.setItem(STORED, JSON.stringify(threads));
  } catch {
    // Private windows may refuse; then the list lasts as long as the page.
  }
}

async function fromServer(): Promise<readonly ThreadEntry[]> {
  const token = await freshToken();
  if (token === null) return [];
  return (await Promise.all(AGENTS.map((agent) => sessionsOf(agent, token)))).flat();
}

async function sessionsOf(agent: string, token: string): Promise<readonly ThreadEntry[]> {
  const response = await fetch(`/agents/${agent}/sessions`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) return [];
  const body = (await response.json()) as unknown;
  const list = Array.isArray(body) ? body : (body as { sessions?: unknown }).sessions;
  return Array.isArray(list) ? list.map(entryOf).filter(isEntry) : [];
}

function entryOf(session: Record<string, unknown>): ThreadEntry {
  const { sessionId, title, updatedAt, createdAt } = session;
  return {
    key: sessionId as string,
    title: typeof title === "string" && title !== "" ? title : "Conversation",
    updatedAt: Date.parse(String(updatedAt ?? createdAt)) || 0,
  };
}

function isEntry(value: unknown): value is ThreadEntry {
  const { key, title, updatedAt } = (value ?? {}) as Partial<ThreadEntry>;
  return typeof key === "string" && typeof title === "string" && typeof updatedAt === "number";
}

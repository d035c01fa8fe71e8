/** The thread on show is in the address: a reload or a second tab shows the same one. */

import { useCallback, useSyncExternalStore } from "react";

export function useThreadKey(): {
  readonly threadKey: string;
  readonly show: (key: string) => void;
  readonly startNew: () => void;
} {
  const threadKey = useSyncExternalStore(follow, current);
  const show = useCallback((key: string) => {
    location.hash = encodeURIComponent(key);
  }, []);
  const startNew = useCallback(() => show(newKey()), [show]);
  return { threadKey, show, startNew };
}

/** Give the page a thread before anything is drawn. */
export function ensureThreadKey(): void {
  if (current() === "") history.replaceState(null, "", `#${newKey()}`);
}

function follow(listener: () => void): () => void {
  const changed = () => {
    ensureThreadKey();
    listener();
  };
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

function current(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

/** A key is all that protects a thread without an owner: it must not be guessed. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

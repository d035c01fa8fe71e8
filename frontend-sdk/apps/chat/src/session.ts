/**
 * Who we are: in development the server hands out a token, elsewhere the page is anonymous.
 *
 * Asked again on every connect, so a tab that slept through its token's life comes back.
 */

import { useSyncExternalStore } from "react";

interface DevSession {
  readonly token: string;
  readonly userId: string;
}

let refusal: string | undefined;
const listeners = new Set<() => void>();

export async function freshToken(): Promise<string | null> {
  const response = await fetch("/dev/session", { cache: "no-store" });
  if (response.status === 403) {
    note(((await response.json()) as { readonly message: string }).message);
    return null;
  }
  note(undefined);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`no session: ${response.status}`);
  return ((await response.json()) as DevSession).token;
}

/** Why the server of a development does not sign this page in, in its own sentence. */
export function useRefusal(): string | undefined {
  return useSyncExternalStore(listen, () => refusal);
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function note(why: string | undefined): void {
  refusal = why;
  for (const listener of listeners) listener();
}

/**
 * What a server knew when it rendered a page, handed on to the browser that shows it.
 *
 * Laws: a snapshot is of one person, and names him; a browser in which somebody else is signed in
 * drops it.  Each answer has its cursor, so the browser asks only for what came since.  A server
 * that is slow delays a page, but never for ever: what has not come is asked for by the browser.
 */

import { type ChatClient, createClient } from "./client.js";
import type { ClientOptions } from "./options.js";
import type { Readable } from "./store.js";
import type { QueryState } from "./thread-state.js";

const TIMEOUT_MS = 5_000;

/** JSON, for `createClient({ snapshot })`. Within HTML its `<` must be written as `\u003c`. */
export interface ClientSnapshot {
  /** Whose it is; null: anybody's. */
  readonly user: string | null;
  /** Answers by the canonical id of their query. */
  readonly queries: Readonly<Record<string, QueryState>>;
}

export interface PreloadOptions extends ClientOptions {
  /** After this what has come is returned. Default: 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Ask for what a page will show, and return it for the rendering and for the browser:
 * `preload(options, (client) => [createChat(client, key).state, client.subscription(list, {})])`.
 *
 * It has a client of its own, so that what one person may see is never in another's page.
 * Rendering itself, with `createClient({ snapshot })`, opens no socket.
 */
export async function preload(
  { timeoutMs = TIMEOUT_MS, ...options }: PreloadOptions,
  wanted: (client: ChatClient) => readonly Readable<unknown>[],
): Promise<ClientSnapshot> {
  const client = createClient(options);
  const { environment, watched } = client.foundation;
  const stops: (() => void)[] = [];
  try {
    await new Promise<void>((resolve) => {
      stops.push(environment.after(timeoutMs, resolve));
      const { connection } = client;
      // A server may refuse to speak with us for good; then the timers have ended, that one, too.
      stops.push(connection.subscribe(() => connection.get().name === "stopped" && resolve()));
      // What is known may name what else is shown: that is watched before this is told.
      const look = () => {
        if ([...watched.values()].every(({ state }) => !state.get().view.loading)) resolve();
      };
      for (const one of wanted(client)) stops.push(one.subscribe(look));
      look();
    });
    return snapshotOf(client);
  } finally {
    for (const stop of stops) stop();
    client.close();
  }
}

function snapshotOf(client: ChatClient): ClientSnapshot {
  const connection = client.connection.get();
  // Off the line nobody knows whose it would be now.
  if (connection.name !== "open") return { user: null, queries: {} };
  const answered = [...client.foundation.watched].flatMap(([key, { known }]) =>
    known.cursor === undefined ? [] : [[key, known] as const],
  );
  return { user: connection.identity?.userId ?? null, queries: Object.fromEntries(answered) };
}

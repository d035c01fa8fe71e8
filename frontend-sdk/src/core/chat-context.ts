/**
 * What all chats of one client share, so that every view of a thread shows the same bubbles.
 *
 * Kept beside the client and not in it: who only asks and watches never loads any of it.
 */

import type { ChatClient, Foundation } from "./client.js";
import type { Environment } from "./environment.js";
import type { Request } from "./requests.js";
import { Sends } from "./sends.js";

/** A send on its way. */
export interface Flight {
  readonly threadKey: string;
  readonly request: Request;
  /** The answer names a branch, and the run is in that. */
  readonly branches: boolean;
}

export interface ChatContext extends Foundation, Pick<Environment, "id" | "after"> {
  readonly client: ChatClient;
  readonly sends: Sends;
  readonly flights: Set<Flight>;
}

const contexts = new WeakMap<ChatClient, ChatContext>();

export function contextOf(client: ChatClient): ChatContext {
  const known = contexts.get(client);
  if (known !== undefined) return known;
  const { foundation } = client;
  const { id, after } = foundation.environment;
  const sends = new Sends();
  foundation.onDeparture(() => sends.clear());
  const made = { ...foundation, id, after, client, sends, flights: new Set<Flight>() };
  contexts.set(client, made);
  return made;
}

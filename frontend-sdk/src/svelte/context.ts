/** One client for all components below. */

import { getContext, setContext } from "svelte";
import type { ChatClient } from "../core/index.js";

const KEY = Symbol("ropewalk");

/** Give a client to this component and those below it: in the layout of an app. */
export function setClient(client: ChatClient): ChatClient {
  return setContext(KEY, client);
}

export function getClient(): ChatClient {
  const client = getContext<ChatClient | undefined>(KEY);
  if (client === undefined) throw new Error("getClient: there is no setClient(client) above");
  return client;
}

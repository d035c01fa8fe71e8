/** One client for all composables of an app, or of what is below a component. */

import { type InjectionKey, inject, type Plugin, provide } from "vue";
import type { ChatClient } from "../core/index.js";

const KEY: InjectionKey<ChatClient> = Symbol("ropewalk");

/** The plugin: `app.use(ropewalk(createClient({ token })))`. */
export function ropewalk(client: ChatClient): Plugin {
  return { install: (app) => app.provide(KEY, client) };
}

/** Give a client to the components below this one. */
export function provideClient(client: ChatClient): void {
  provide(KEY, client);
}

export function useClient(): ChatClient {
  const client = inject(KEY, undefined);
  if (client === undefined) {
    throw new Error("useClient: there is no client here: app.use(ropewalk(client))");
  }
  return client;
}

/** Waiting for a first answer, for frameworks in which a boundary waits for what is drawn in it. */

import type { ChatClient } from "./client.js";
import type { Readable } from "./store.js";
import type { SubscriptionView } from "./subscription.js";

/** A framework may take its time until it shows, and so watches, what it has waited for. */
const SHOWN_MS = 5_000;

/** Watch until there is an answer, which is given at once if it is there, and a while longer. */
export function answered<View extends SubscriptionView>(
  { foundation }: ChatClient,
  { get, subscribe }: Readable<View>,
): View | Promise<View> {
  if (!get().loading) return get();
  return new Promise((resolve) => {
    const stop = subscribe(() => {
      if (get().loading) return;
      foundation.environment.after(SHOWN_MS, stop);
      resolve(get());
    });
  });
}

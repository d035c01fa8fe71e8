/** What the stories of this folder share. */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** The platform's own WebSocket; Node 20 has none, so there it is that of the SDK's tests. */
export const socketConstructor = (entry) =>
  globalThis.WebSocket ?? createRequire(pathToFileURL(entry))("ws");

/** Keep every view of a subscription; `until` waits for one. */
export function watching(readable) {
  const seen = [];
  const waiting = new Set();
  const look = () => {
    seen.push(readable.get());
    for (const check of waiting) check();
  };
  readable.subscribe(look);
  const until = (holds) =>
    new Promise((resolve, reject) => {
      const late = () => reject(new Error(`not seen in time: ${JSON.stringify(readable.get())}`));
      const timer = setTimeout(late, 30_000);
      const check = () => {
        if (!holds(readable.get())) return;
        clearTimeout(timer);
        waiting.delete(check);
        resolve(readable.get());
      };
      waiting.add(check);
      check();
    });
  return { seen, until };
}

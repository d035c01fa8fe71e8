import type { ConnectionState } from "../core/index.js";
import { getClient } from "./context.js";
import { fromReadable, type Shown } from "./readable.js";

/** Where the connection stands. Watching it does not connect. */
export function connection(): Shown<ConnectionState> {
  return fromReadable(getClient().connection);
}

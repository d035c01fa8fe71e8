import type { Accessor } from "solid-js";
import type { ConnectionState } from "../core/index.js";
import { useClient } from "./context.js";
import { createReadable } from "./readable.js";

/** Where the connection stands. Watching it does not connect. */
export function createConnection(): Accessor<ConnectionState> {
  return createReadable(useClient().connection);
}

import type { ComputedRef } from "vue";
import type { ConnectionState } from "../core/index.js";
import { useClient } from "./client.js";
import { useReadable } from "./readable.js";

/** Where the connection stands. Watching it does not connect. */
export function useConnection(): ComputedRef<ConnectionState> {
  return useReadable(useClient().connection);
}

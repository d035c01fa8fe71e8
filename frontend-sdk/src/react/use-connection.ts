import type { ConnectionState } from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

/** Where the connection stands. Watching it does not connect. */
export function useConnection(): ConnectionState {
  return useReadable(useClient().connection);
}

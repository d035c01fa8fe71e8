/** The bridge: a `Readable` of the core as a value that React watches. */

import { useSyncExternalStore } from "react";
import type { Readable } from "../core/index.js";

/** `readable` must be the same object from render to render, as `useMemo` makes it. */
export function useReadable<T>(readable: Readable<T>): T {
  return useSyncExternalStore(readable.subscribe, readable.get, readable.get);
}

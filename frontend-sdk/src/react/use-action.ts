import { useMemo } from "react";
import type { ActionRef, Caller } from "../core/index.js";
import { useClient } from "./provider.js";

/** An action as a function, the same one in every render; with `state`, as of `useMutation`. */
export function useAction<Args, Result>(action: ActionRef<Args, Result>): Caller<Args, Result> {
  const client = useClient();
  return useMemo(() => client.action(action), [client, action]);
}

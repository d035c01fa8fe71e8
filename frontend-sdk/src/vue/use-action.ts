import type { ActionRef } from "../core/index.js";
import { useClient } from "./client.js";
import { type Mutate, useCaller } from "./use-mutation.js";

/** An action as a function, with refs of how its calls stand, as of `useMutation`. */
export function useAction<Args, Result>(action: ActionRef<Args, Result>): Mutate<Args, Result> {
  return useCaller(useClient().action(action));
}

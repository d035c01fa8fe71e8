import type { ActionRef } from "../core/index.js";
import { useClient } from "./context.js";
import type { Mutate } from "./create-mutation.js";
import { createFields } from "./readable.js";

/** An action as a function that knows how its calls stand, as of `createMutation`. */
export function createAction<Args, Result>(action: ActionRef<Args, Result>): Mutate<Args, Result> {
  const caller = useClient().action(action);
  return createFields(caller.state, caller);
}

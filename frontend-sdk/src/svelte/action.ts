import type { ActionRef } from "../core/index.js";
import { getClient } from "./context.js";
import type { Mutate } from "./mutation.js";
import { fromFields } from "./readable.js";

/** An action as a function that knows how its calls stand, as of `mutation`. */
export function action<Args, Result>(ref: ActionRef<Args, Result>): Mutate<Args, Result> {
  const caller = getClient().action(ref);
  return fromFields(caller.state, caller);
}

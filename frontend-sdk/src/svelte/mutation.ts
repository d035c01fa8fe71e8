import type { Caller, CallState, MutationOptions, MutationRef } from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type Shown } from "./readable.js";

/** A function of the server's, and a store of how its calls stand: `$place.pending`. */
export type Mutate<Args, Result> = Caller<Args, Result> & CallState & Shown<CallState>;

/** A mutation as a function: `const place = mutation(api.orders.place)`. */
export function mutation<Args, Result>(
  ref: MutationRef<Args, Result>,
  options?: MutationOptions<Args>,
): Mutate<Args, Result> {
  const caller = getClient().mutation(ref, options);
  return fromFields(caller.state, caller);
}

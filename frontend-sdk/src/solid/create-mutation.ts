import type { Caller, CallState, MutationOptions, MutationRef } from "../core/index.js";
import { useClient } from "./context.js";
import { createFields } from "./readable.js";

/** A function of the server's, and how its calls stand: `place.pending`, `place.error`. */
export type Mutate<Args, Result> = Caller<Args, Result> & CallState;

/** A mutation as a function: `const place = createMutation(api.orders.place)`. */
export function createMutation<Args, Result>(
  mutation: MutationRef<Args, Result>,
  options?: MutationOptions<Args>,
): Mutate<Args, Result> {
  const caller = useClient().mutation(mutation, options);
  return createFields(caller.state, caller);
}

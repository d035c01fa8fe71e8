import type { Caller, CallState, MutationOptions, MutationRef } from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

/** A function of the server's, and how its calls stand: `const { pending, error } = place`. */
export type Mutate<Args, Result> = Caller<Args, Result> & Fields<CallState>;

/** A mutation as a function: `const place = useMutation(api.orders.place)`. */
export function useMutation<Args, Result>(
  mutation: MutationRef<Args, Result>,
  options?: MutationOptions<Args>,
): Mutate<Args, Result> {
  return useCaller(useClient().mutation(mutation, options));
}

export function useCaller<Args, Result>(caller: Caller<Args, Result>): Mutate<Args, Result> {
  return Object.assign(caller, useFields(caller.state));
}

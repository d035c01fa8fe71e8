import { type MaybeRefOrGetter, toValue } from "vue";
import { type Arguments, kept, type QueryRef, type SubscriptionView } from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

/** Arguments, or a ref or getter of them; they may be left out where the query needs none. */
type Given<Args> =
  Record<never, never> extends Args
    ? [args?: MaybeRefOrGetter<Args | "skip">]
    : [args: MaybeRefOrGetter<Args | "skip">];

/**
 * What a query answers, live: `useQuery(api.orders.list, () => ({ status: props.status }))`.
 * With `"skip"` for arguments nothing is asked, as while they are not known yet.
 */
export function useQuery<Args, Result>(
  query: QueryRef<Args, Result>,
  ...[args]: Given<Args>
): Fields<SubscriptionView<Result>> {
  const client = useClient();
  const of = kept((now: Arguments<Args, "skip">) => client.subscription(query, ...now));
  return useFields(() => of([toValue(args) ?? {}] as Arguments<Args, "skip">));
}

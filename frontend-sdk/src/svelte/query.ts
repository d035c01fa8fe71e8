import { type Arguments, kept, type QueryRef, type SubscriptionView } from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type MaybeGetter, read, type Shown } from "./readable.js";

/** Arguments, or a getter of them; they may be left out where the query needs none. */
type Given<Args> =
  Record<never, never> extends Args
    ? [args?: MaybeGetter<Args | "skip">]
    : [args: MaybeGetter<Args | "skip">];

/**
 * What a query answers, live: `query(api.orders.list, () => ({ status }))`.
 * With `"skip"` for arguments nothing is asked, as while they are not known yet.
 */
export function query<Args, Result>(
  ref: QueryRef<Args, Result>,
  ...[args]: Given<Args>
): SubscriptionView<Result> & Shown<SubscriptionView<Result>> {
  const client = getClient();
  const of = kept((now: Arguments<Args, "skip">) => client.subscription(ref, ...now));
  return fromFields(() => of([read(args) ?? {}] as Arguments<Args, "skip">));
}

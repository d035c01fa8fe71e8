import type { Accessor } from "solid-js";
import {
  type Arguments,
  kept,
  type QueryRef,
  type Readable,
  type SubscriptionView,
} from "../core/index.js";
import { useClient } from "./context.js";
import { access, createFields, type MaybeAccessor } from "./readable.js";

/** Arguments, or an accessor of them; they may be left out where the query needs none. */
export type QueryArguments<Args> =
  Record<never, never> extends Args
    ? [args?: MaybeAccessor<Args | "skip">]
    : [args: MaybeAccessor<Args | "skip">];

/**
 * What a query answers, live: `createQuery(api.orders.list, () => ({ status: props.status }))`.
 * With `"skip"` for arguments nothing is asked, as while they are not known yet.
 */
export function createQuery<Args, Result>(
  query: QueryRef<Args, Result>,
  ...args: QueryArguments<Args>
): SubscriptionView<Result> {
  return createFields(queried(query, args));
}

/** Return what gives the answers to a query for its arguments of that moment. */
export function queried<Args, Result>(
  query: QueryRef<Args, Result>,
  [args]: QueryArguments<Args>,
): Accessor<Readable<SubscriptionView<Result>>> {
  const client = useClient();
  const of = kept((now: Arguments<Args, "skip">) => client.subscription(query, ...now));
  return () => of([access(args) ?? {}] as Arguments<Args, "skip">);
}

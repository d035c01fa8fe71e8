import { useMemo } from "react";
import {
  type Arguments,
  canonicalId,
  type QueryRef,
  type SubscriptionView,
} from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

/**
 * What a query answers, live: `useQuery(api.orders.list, { status: "open" })`.
 * With `"skip"` for arguments nothing is asked, as while they are not known yet.
 */
export function useQuery<Args, Result>(
  query: QueryRef<Args, Result>,
  ...args: Arguments<Args, "skip">
): SubscriptionView<Result> {
  const client = useClient();
  const id = canonicalId(query, args as never);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id stands for query and args.
  return useReadable(useMemo(() => client.subscription(query, ...args), [client, id]));
}

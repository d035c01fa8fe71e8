import { useMemo } from "react";
import { canonicalId, type FunctionRef, type SubscriptionView } from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

/** What a query answers, live: `useSubscription(api.agents.agentMessages, { key })`. */
export function useSubscription<Args extends object, Result>(
  query: FunctionRef<Args, Result>,
  args: Args,
): SubscriptionView<Result> {
  const client = useClient();
  const id = canonicalId(query, args as Readonly<Record<string, unknown>>);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the id stands for query and args.
  return useReadable(useMemo(() => client.subscription(query, args), [client, id]));
}

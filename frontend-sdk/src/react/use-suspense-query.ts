import { useSyncExternalStore } from "react";
import { type Arguments, answered, type QueryRef } from "../core/index.js";
import { useClient } from "./provider.js";
import { useQuery } from "./use-query.js";

/**
 * As `useQuery`, but the boundary above waits: for an answer (`Suspense`), or for somebody to try
 * again where there is none (an error boundary).
 *
 * On a server only a snapshot has answers; without one the browser draws what is in the boundary.
 */
export function useSuspenseQuery<Args, Result>(
  query: QueryRef<Args, Result>,
  ...args: Arguments<Args>
): Result {
  const client = useClient();
  const { value, error } = useQuery(query, ...args);
  const onServer = useSyncExternalStore(never, no, yes);
  if (value !== undefined) return value;
  if (error) throw error;
  if (onServer) throw new Error(`useSuspenseQuery: ${query} is not in the snapshot`);
  throw answered(client, client.subscription(query, ...args));
}

const never = () => () => {};
const no = () => false;
const yes = () => true;

import { useMemo } from "react";
import type { Caller, MutationOptions, MutationRef } from "../core/index.js";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";

/**
 * A mutation as a function, the same one in every render. How its calls stand is in `state`:
 * `useReadable(place.state)` gives `{ pending, error }`.
 */
export function useMutation<Args, Result>(
  mutation: MutationRef<Args, Result>,
  options: MutationOptions<Args> = {},
): Caller<Args, Result> {
  const client = useClient();
  const latest = useLatest(options);
  return useMemo(
    () =>
      client.mutation(mutation, {
        get optimistic() {
          return latest.current.optimistic;
        },
      }),
    [client, mutation, latest],
  );
}

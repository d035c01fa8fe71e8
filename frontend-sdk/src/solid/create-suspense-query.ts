import { type Accessor, createMemo, createResource } from "solid-js";
import { answered, type QueryRef } from "../core/index.js";
import { useClient } from "./context.js";
import { type QueryArguments, queried } from "./create-query.js";
import { createReadable } from "./readable.js";

/**
 * As `createQuery`, but the boundary above waits: for an answer (`Suspense`), or for somebody to
 * try again where there is none (`ErrorBoundary`). A server waits for nothing: what is not in its
 * snapshot is undefined there.
 */
export function createSuspenseQuery<Args, Result>(
  query: QueryRef<Args, Result>,
  ...args: QueryArguments<Args>
): Accessor<Result | undefined> {
  const client = useClient();
  const readable = createMemo(queried(query, args));
  const [answer] = createResource(readable, (one) => answered(client, one), {
    initialValue: undefined,
    ssrLoadFrom: "initial",
  });
  const changes = createReadable(readable);
  // In a transition only the answer is heard of, and it is another each time.
  const view = createMemo(() => {
    answer();
    changes();
    return readable().get();
  });
  return () => {
    const { value, error } = view();
    if (value === undefined && error) throw error;
    return value;
  };
}

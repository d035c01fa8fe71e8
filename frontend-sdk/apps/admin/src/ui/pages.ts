/** A list whose first page is live and whose older pages were asked for. */

import { useEffect, useState } from "react";
import {
  type Arguments,
  canonicalId,
  type QueryRef,
  type RopewalkError,
  type SubscriptionView,
} from "ropewalk";
import { useClient, useQuery } from "ropewalk/react";

interface Paged<Row> {
  readonly rows: readonly Row[] | undefined;
  readonly error: RopewalkError | undefined;
  /** Ask for older ones; undefined when there are none. */
  readonly more: (() => void) | undefined;
  readonly busy: boolean;
}

interface Page {
  readonly next: string | null;
}

export function usePages<Args extends { readonly before?: string }, Result extends Page, Row>(
  query: QueryRef<Args, Result>,
  args: Args,
  rowsOf: (page: Result) => readonly Row[],
  idOf: (row: Row) => string,
): Paged<Row> & { readonly first: Result | undefined } {
  const client = useClient();
  const view: SubscriptionView<Result> = useQuery(
    query,
    ...([args] as unknown as Arguments<Args, "skip">),
  );
  const { value: first, error } = view;
  const [older, setOlder] = useState<readonly Result[]>([]);
  const [busy, setBusy] = useState(false);
  const id = canonicalId(query, args as never);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question has other pages.
  useEffect(() => setOlder([]), [id]);

  const next = (older[older.length - 1] ?? first)?.next ?? undefined;
  const more = async () => {
    setBusy(true);
    try {
      const page = await client.query(query, { ...args, before: next });
      setOlder((pages) => [...pages, page]);
    } catch {
      // The button is there to be pressed again.
    } finally {
      setBusy(false);
    }
  };
  const pages = first === undefined ? undefined : [first, ...older];
  return {
    first,
    rows: pages && distinct(pages.flatMap(rowsOf), idOf),
    error,
    more: next === undefined ? undefined : () => void more(),
    busy,
  };
}

/** The live page moves on while older ones stay: what is on both is shown once. */
export function distinct<Row>(rows: readonly Row[], idOf: (row: Row) => string): readonly Row[] {
  const seen = new Map<string, Row>();
  for (const row of rows) if (!seen.has(idOf(row))) seen.set(idOf(row), row);
  return [...seen.values()];
}

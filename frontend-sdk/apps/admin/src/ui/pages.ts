/** A list whose first page is live and whose older pages were asked for. */

import { useState } from "react";
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
  const [asked, setAsked] = useState<Asked<Result>>();
  const [busy, setBusy] = useState(false);
  const id = canonicalId(query, args as never);
  // Another question has other pages, also when an answer to the one before comes late; and a live
  // page that is not full is all there is.
  const pages = asked?.id === id && first?.next !== null ? asked.pages : undefined;

  const next = (pages?.[pages.length - 1] ?? first)?.next ?? undefined;
  const more = async (from: Result) => {
    setBusy(true);
    try {
      const page = await client.query(query, { ...args, before: next });
      // Unless those of another question have come meanwhile.
      setAsked((now) => (now === asked ? { id, pages: [...(pages ?? [from]), page] } : now));
    } catch {
      // The button is there to be pressed again.
    } finally {
      setBusy(false);
    }
  };
  return {
    first,
    rows: first && joined(rowsOf(first), (pages ?? []).flatMap(rowsOf), idOf),
    error,
    more: first === undefined || next === undefined ? undefined : () => void more(first),
    busy,
  };
}

/** The live page as it was when older ones were asked for, and those. */
interface Asked<Result> {
  readonly id: string;
  readonly pages: readonly Result[];
}

/**
 * The live page, and after its last row what was there before: it moves on while older ones stay,
 * and what it has pushed out is on none of them. What is on both is shown once.
 */
export function joined<Row>(
  live: readonly Row[],
  before: readonly Row[],
  idOf: (row: Row) => string,
): readonly Row[] {
  const last = live[live.length - 1];
  const end = last === undefined ? -1 : before.findIndex((row) => idOf(row) === idOf(last));
  const seen = new Map<string, Row>();
  for (const row of [...live, ...before.slice(end + 1)]) {
    if (!seen.has(idOf(row))) seen.set(idOf(row), row);
  }
  return [...seen.values()];
}

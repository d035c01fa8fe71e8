/**
 * Rows that stay the same objects from answer to answer while they say the same.
 *
 * Each answer of a live list is parsed anew. Without this, one row that goes away would draw all
 * of the others once more: of five hundred cards, decided one by one, a quarter of a million.
 */

import { useRef } from "react";

type Known<Row> = ReadonlyMap<string, { readonly row: Row; readonly text: string }>;

export function useKept<Row extends object>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
): readonly Row[] {
  const before = useRef<{ readonly of: readonly Row[]; readonly kept: readonly Row[] }>(undefined);
  const known = useRef<Known<Row>>(new Map());
  if (before.current?.of === rows) return before.current.kept;
  const now = keptFrom(known.current, rows, idOf);
  known.current = now;
  before.current = { of: rows, kept: [...now.values()].map(({ row }) => row) };
  return before.current.kept;
}

/** Return the rows in their order; what is known and says the same is the known one. */
export function keptFrom<Row extends object>(
  known: Known<Row>,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): Known<Row> {
  return new Map(
    rows.map((row) => {
      const id = idOf(row);
      const text = JSON.stringify(row);
      const old = known.get(id);
      return [id, old?.text === text ? old : { row, text }];
    }),
  );
}

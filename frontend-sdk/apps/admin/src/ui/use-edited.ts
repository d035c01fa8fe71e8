/**
 * What a person makes of a value that others may change meanwhile.
 *
 * While nothing was touched it follows the server.  Once something was, it stays, and says so when
 * the server's value has become another than the one it was begun from: nobody's word is lost
 * without somebody having seen it.
 */

import { useCallback, useState } from "react";

export interface Edited<Value> {
  readonly value: Value;
  readonly set: (value: Value) => void;
  /** It says something else than the server. */
  readonly changed: boolean;
  /** The server's value is another than the one that this was begun from. */
  readonly moved: boolean;
  /** What it was begun from. */
  readonly base: Value;
  /** Take the server's value. */
  readonly take: () => void;
  /** Go on from the server's value as it is now, with what was made here. */
  readonly keep: () => void;
  /** The server has stored this, and is about to show it. */
  readonly stored: (value: Value) => void;
}

interface Mine<Value> {
  readonly base: Value;
  readonly value: Value;
  /** What the server showed when it had stored it. */
  readonly until?: Value;
}

export function useEdited<Value>(server: Value): Edited<Value> {
  const [mine, setMine] = useState<Mine<Value>>();
  const isShown = mine !== undefined && same(mine.value, server);
  const isOver = mine?.until !== undefined && !same(mine.until, server);
  if (isShown || isOver) setMine(undefined);
  const edited = isShown || isOver ? undefined : mine;
  const changed = edited !== undefined && edited.until === undefined;
  return {
    value: edited === undefined ? server : edited.value,
    changed,
    moved: changed && !same(edited.base, server),
    base: edited?.base ?? server,
    set: useCallback(
      (value: Value) => setMine((before) => ({ base: before?.base ?? server, value })),
      [server],
    ),
    take: useCallback(() => setMine(undefined), []),
    keep: useCallback(
      () => setMine((before) => before && { base: server, value: before.value }),
      [server],
    ),
    stored: useCallback((value: Value) => setMine({ base: value, value, until: server }), [server]),
  };
}

export function same(one: unknown, other: unknown): boolean {
  return one === other || sorted(one) === sorted(other);
}

/** Return JSON that does not depend on the order of fields; what is undefined is not there. */
function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

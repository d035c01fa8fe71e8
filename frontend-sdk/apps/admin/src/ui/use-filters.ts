/** What the address filters a list by. */

import { useFilter } from "../router.js";

export interface Filters<Name extends string> {
  /** What is not empty, by name. */
  readonly said: { readonly [Each in Name]?: string };
  /** Say others; what is empty is not said any more. */
  readonly change: (changes: { readonly [Each in Name]?: string }) => void;
}

export function useFilters<Name extends string>(names: readonly Name[]): Filters<Name> {
  const [filter, change] = useFilter();
  const said: { [Each in Name]?: string } = {};
  for (const name of names) {
    const value = filter.get(name);
    if (value) said[name] = value;
  }
  return { said, change };
}

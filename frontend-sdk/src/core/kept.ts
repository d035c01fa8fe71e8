/** One thing for one set of arguments: frameworks hand in new objects that say the same. */

import { canonicalId } from "./canonical.js";

/** Return `make`, such that it gives the same thing as before until its arguments are others. */
export function kept<Args, T>(make: (args: Args) => T): (args: Args) => T {
  let last: { readonly id: string; readonly made: T } | undefined;
  return (args) => {
    const id = canonicalId("", args as never);
    if (last?.id !== id) last = { id, made: make(args) };
    return last.made;
  };
}

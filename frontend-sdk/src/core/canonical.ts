/**
 * The one name of a subscription: its query and its arguments in canonical JSON.
 *
 * Everybody who asks the same uses the same name, so that one client holds one server
 * subscription however many hooks there are, and a server encodes a frame once for all.
 */

/** Return `query` followed by `args` with sorted keys and no blanks. `undefined` is left out. */
export function canonicalId(query: string, args: Readonly<Record<string, unknown>>): string {
  return query + JSON.stringify(args, sortKeys);
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

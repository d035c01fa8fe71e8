/** Addresses of routes: whatever is put into one stays one segment of it. */

import { HttpError } from "./http-error.js";

/** Return the path, as ``at`/agents/${slug}` ``. A name that no address can hold is refused. */
export function at(said: TemplateStringsArray, ...names: readonly string[]): string {
  return said.reduce((path, next, index) => `${path}${segment(names[index - 1] ?? "")}${next}`);
}

/** Return the query of an address, with its question mark; what is undefined is left out. */
export function query(given: Readonly<Record<string, string | number | undefined>>): string {
  const said = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return said.length === 0 ? "" : `?${said.join("&")}`;
}

function segment(name: string): string {
  try {
    // Those two are steps up and sideways however they are written: the request would go elsewhere.
    if (name !== "" && name !== "." && name !== "..") return encodeURIComponent(name);
  } catch {
    // Half of a pair of surrogates: no address can say it.
  }
  throw new HttpError("INVALID_ARGUMENT", `${JSON.stringify(name)} cannot stand in an address`);
}

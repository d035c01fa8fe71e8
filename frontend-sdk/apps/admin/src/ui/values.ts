/** What a value looks like, decided without drawing it. */

/** Return the fields of an object, or undefined for what has none by name. */
export function fieldsOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.entries(value);
}

/** Whether there is something inside that may be opened. */
export function isTree(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Return a simple value as people write it: a text as it is, nothing as a dash. */
export function words(value: unknown): string {
  if (typeof value === "string") return value === "" ? "(empty text)" : value;
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return isTree(value) ? JSON.stringify(value, null, 2) : String(value);
}

export interface Change {
  readonly name: string;
  /** Undefined: there was no such field. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Return what an edit changed, in the order of the fields. */
export function changesOf(before: unknown, after: unknown): readonly Change[] {
  const old = Object.fromEntries(fieldsOf(before) ?? []);
  const now = Object.fromEntries(fieldsOf(after) ?? []);
  return [...new Set([...Object.keys(old), ...Object.keys(now)])]
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
    .map((name) => ({ name, before: old[name], after: now[name] }));
}

/** Return the object that a text is, or what is wrong with it and where. */
export function objectOf(
  text: string,
): { readonly value: Readonly<Record<string, unknown>> } | { readonly trouble: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return {
      trouble: `This is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  if (fieldsOf(value) === undefined) return { trouble: "Arguments are an object: { … }" };
  return { value: value as Readonly<Record<string, unknown>> };
}

/** Arguments as text that a person edits, and what he changed. Pure. */

export type Input = Readonly<Record<string, unknown>>;

/** Return the arguments that a text is, or why it is none. */
export function inputOf(text: string): { readonly input: Input } | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `This is no JSON: ${why}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problem: 'The arguments are an object: { "name": value, … }' };
  }
  return { input: value as Input };
}

export interface Change {
  readonly name: string;
  /** As JSON; undefined where there was none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Return what is another than before, in the order of the names. */
export function changesOf(before: unknown, after: Input): readonly Change[] {
  const old = typeof before === "object" && before !== null ? (before as Input) : {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(after)])];
  return names
    .map((name) => ({ name, before: shown(old[name]), after: shown(after[name]) }))
    .filter((change) => change.before !== change.after);
}

function shown(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}

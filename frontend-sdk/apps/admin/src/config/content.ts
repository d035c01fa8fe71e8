/** What an override says, beside what the code says: pure, so that what is shown can be tested. */

import type { CodedAgent, OverrideContent } from "../admin.gen.js";

export const FIELDS = ["instructions", "model", "autonomy", "maxTurns", "toolsOff"] as const;

export type FieldName = (typeof FIELDS)[number];

export const NAMES: Readonly<Record<FieldName, string>> = {
  instructions: "Instructions",
  model: "Model",
  autonomy: "Autonomy",
  maxTurns: "Turns at most",
  toolsOff: "Tools taken away",
};

const AUTONOMY: Readonly<Record<string, string>> = {
  as_coded: "Acts on its own",
  always_ask: "Always asks",
};

export function autonomyWords(autonomy: string): string {
  return AUTONOMY[autonomy] ?? autonomy;
}

/** Return what the code says of a field, in words. */
export function codedWords(code: CodedAgent, field: FieldName): string {
  switch (field) {
    case "instructions":
      return code.instructions ?? "(computed for each run)";
    case "model":
      return code.model;
    case "autonomy":
      return autonomyWords(code.autonomy);
    case "maxTurns":
      return String(code.maxTurns);
    case "toolsOff":
      return "none";
  }
}

/** Return what counts for a field, in words. */
export function wordsFor(content: OverrideContent, code: CodedAgent, field: FieldName): string {
  const said = content[field];
  if (said === undefined) return codedWords(code, field);
  if (field === "autonomy") return autonomyWords(String(said));
  return Array.isArray(said) ? said.join(", ") : String(said);
}

export interface FieldChange {
  readonly field: FieldName;
  readonly before: string;
  readonly after: string;
  /** The side says nothing of its own: it is as coded. */
  readonly wasCoded: boolean;
  readonly isCoded: boolean;
}

/** Return the fields of which two versions say different things. */
export function changesBetween(
  before: OverrideContent,
  after: OverrideContent,
  code: CodedAgent,
): readonly FieldChange[] {
  return FIELDS.filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  ).map((field) => ({
    field,
    before: wordsFor(before, code, field),
    after: wordsFor(after, code, field),
    wasCoded: before[field] === undefined,
    isCoded: after[field] === undefined,
  }));
}

/** Return the content without what it does not say, and without tools that the code has lost. */
export function tidied(content: OverrideContent, code: CodedAgent): OverrideContent {
  const known = new Set(code.tools.map(({ name }) => name));
  const off = (content.toolsOff ?? []).filter((tool) => known.has(tool)).sort();
  const { toolsOff: _, ...rest } = content;
  const said = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(said), ...(off.length > 0 && { toolsOff: off }) };
}

/** Return the content with a field said, or left to the code. */
export function withField<Name extends FieldName>(
  content: OverrideContent,
  field: Name,
  value: OverrideContent[Name] | undefined,
): OverrideContent {
  const { [field]: _, ...rest } = content;
  return value === undefined ? rest : { ...rest, [field]: value };
}

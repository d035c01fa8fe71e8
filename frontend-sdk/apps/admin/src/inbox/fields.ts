/** Editing arguments by their schema: which field is drawn how, and what its text means. */

import type { ApprovalRecord } from "ropewalk";
import type { ToolView } from "../admin.gen.js";
import { fieldsOf, objectOf } from "../ui/values.js";

type Schema = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "number" | "flag" | "choice" | "json";

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly choices: readonly string[];
  readonly about: string | undefined;
  /** What the agent asked for, as it stands in the field. */
  readonly text: string;
  /** Whether the agent gave it at all. */
  readonly given: boolean;
}

/** Return a field for each argument; what a schema does not know is JSON. */
export function fieldsFor(
  tool: ToolView | undefined,
  { input }: Pick<ApprovalRecord, "input">,
): readonly Field[] {
  const properties = (tool?.parameters["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const required = new Set((tool?.parameters["required"] ?? []) as readonly string[]);
  const given = new Map(fieldsOf(input) ?? []);
  return [...new Set([...Object.keys(properties), ...given.keys()])].map((name) => {
    const schema = properties[name] ?? {};
    const kind = kindOf(schema, given.get(name));
    const about = schema["description"];
    return {
      name,
      kind,
      required: required.has(name),
      choices: kind === "choice" ? (schema["enum"] as readonly string[]) : [],
      about: typeof about === "string" ? about : undefined,
      text: given.has(name) ? textOf(kind, given.get(name)) : "",
      given: given.has(name),
    };
  });
}

function kindOf(schema: Schema, value: unknown): FieldKind {
  const fits = (type: string) => value === undefined || typeof value === type;
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.every((one) => typeof one === "string") && fits("string")) {
    return "choice";
  }
  switch (schema["type"]) {
    case "string":
      return fits("string") ? "text" : "json";
    case "integer":
    case "number":
      return fits("number") ? "number" : "json";
    case "boolean":
      return fits("boolean") ? "flag" : "json";
    default:
      return "json";
  }
}

function textOf(kind: FieldKind, value: unknown): string {
  return kind === "text" || kind === "choice" ? String(value) : JSON.stringify(value);
}

export type Taken =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly troubles: Readonly<Record<string, string>> };

/** Return the arguments that the texts mean, or what is wrong with which. */
export function argumentsOf(
  fields: readonly Field[],
  texts: Readonly<Record<string, string>>,
): Taken {
  const value: Record<string, unknown> = {};
  const troubles: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.text;
    // What was never given and is still empty stays out; an empty text that was given is one.
    if (text === "" && (field.kind !== "text" || !(field.given || field.required))) {
      if (field.required) troubles[field.name] = "This is needed.";
      continue;
    }
    if (field.kind === "text" || field.kind === "choice") {
      value[field.name] = text;
      continue;
    }
    try {
      value[field.name] = JSON.parse(text);
    } catch {
      troubles[field.name] =
        field.kind === "number" ? "This has to be a number." : "This is not JSON.";
    }
  }
  return Object.keys(troubles).length > 0 ? { troubles } : { value };
}

/** Return the arguments that a whole text means. */
export function argumentsIn(text: string): Taken {
  const found = objectOf(text);
  return "value" in found ? found : { troubles: { "": found.trouble } };
}

/** Return a server's sentence at the field that it names, else at the whole. */
export function troublesOf(
  message: string,
  fields: readonly Field[],
): Readonly<Record<string, string>> {
  const named = fields.filter(({ name }) =>
    new RegExp(`(^|[^\\w])${escaped(name)}([^\\w]|$)`).test(message),
  );
  if (named.length === 0) return { "": message };
  return Object.fromEntries(named.map(({ name }) => [name, message]));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

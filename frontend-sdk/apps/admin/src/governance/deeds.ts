/** What somebody did, as the end of a sentence that begins with who it was. */

import type { AuditRow } from "../admin.gen.js";
import { type FieldName, NAMES } from "../config/content.js";

export function deedOf({ action, detail }: AuditRow): string {
  const { before, after, version, fields, from, tool } = detail;
  switch (action) {
    case "published":
      return `published version ${version}: ${listed(fieldNames(fields)) || "everything as coded"}`;
    case "reset":
      return `went back to the code, with version ${version}`;
    case "restored":
      return `put version ${from} in force again, as version ${version}`;
    case "approvers":
      return `picked who decides ${tool}: ${names(before, "as coded")} → ${names(after, "as coded")}`;
    case "lists":
      return ["use", "approve"]
        .map((list) => [list, names(of(before, list), NO_LIST), names(of(after, list), NO_LIST)])
        .filter(([, was, is]) => was !== is)
        .map(([list, was, is]) => `changed who may ${list} it: ${was} → ${is}`)
        .join("; ");
    case "models":
      return `changed which models may be chosen: ${names(before, "any")} → ${names(after, "any")}`;
    case "minutes":
      return `set the minutes by hand: ${minutes(before)} → ${minutes(after)}`;
    default:
      return `${action}: ${JSON.stringify(detail)}`;
  }
}

const NO_LIST = "no list";

function of(lists: unknown, name: string): unknown {
  return (lists as Readonly<Record<string, unknown>> | null)?.[name];
}

function names(list: unknown, none: string): string {
  if (list === null || list === undefined) return none;
  return listed(list) || "nobody";
}

function listed(list: unknown): string {
  return Array.isArray(list) ? list.join(", ") : "";
}

function fieldNames(fields: unknown): unknown {
  if (!Array.isArray(fields)) return fields;
  return fields.map((field) => NAMES[field as FieldName]?.toLowerCase() ?? field);
}

function minutes(value: unknown): string {
  return value === null || value === undefined ? "not said" : String(value);
}

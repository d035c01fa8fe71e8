/** Fields that filter a list; what they say is in the address. */

import { type ReactNode, useEffect, useState } from "react";
import { useQuery } from "ropewalk/react";
import { api } from "../api.js";
import type { Filters } from "./use-filters.js";

const PAUSE_MS = 250;

interface FieldProps<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly filters: Filters<Name>;
}

interface TextProps<Name extends string> extends FieldProps<Name> {
  readonly type?: "search" | "number" | "datetime-local";
  /** How the address says what is shown, and the other way round. */
  readonly shown?: (said: string) => string;
  readonly meant?: (shown: string) => string;
}

const asItIs = (text: string): string => text.trim();

/** Asks when a person has stopped typing. */
export function TextFilter<Name extends string>(props: TextProps<Name>): ReactNode {
  const { name, label, filters, type = "search", shown = asItIs, meant = asItIs } = props;
  const said = filters.said[name] ?? "";
  const value = said === "" ? "" : shown(said);
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that is waited for.
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => filters.change(only(name, meant(text))), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        type={type}
        {...(type === "number" && { min: 0, step: 1 })}
        data-testid={`filter-${name}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

interface ChoiceProps<Name extends string> extends FieldProps<Name> {
  /** What can be chosen, and how it is called where that differs. */
  readonly choices: readonly string[];
  readonly words?: Readonly<Record<string, string>>;
  readonly none?: string;
  /** What else is no longer said when another is chosen. */
  readonly clears?: readonly Name[];
}

export function ChoiceFilter<Name extends string>(props: ChoiceProps<Name>): ReactNode {
  const { name, label, filters, choices, words = {}, none = "all", clears = [] } = props;
  const value = filters.said[name] ?? "";
  return (
    <label className="filter">
      <span>{label}</span>
      <select
        data-testid={`filter-${name}`}
        value={value}
        onChange={(event) =>
          filters.change(
            Object.assign(
              {},
              ...clears.map((each) => only(each, "")),
              only(name, event.target.value),
            ),
          )
        }
      >
        <option value="">{none}</option>
        {[...new Set([...choices, ...(value === "" ? [] : [value])])].map((one) => (
          <option key={one} value={one}>
            {words[one] ?? one}
          </option>
        ))}
      </select>
    </label>
  );
}

/** One of the agents that there are. */
export function AgentFilter({ filters }: { readonly filters: Filters<"agent"> }): ReactNode {
  const agents = useQuery(api.agentList).value ?? [];
  return (
    <ChoiceFilter
      name="agent"
      label="Agent"
      filters={filters}
      choices={agents.map(({ slug }) => slug)}
    />
  );
}

function only<Name extends string>(
  name: Name,
  value: string,
): { readonly [Each in Name]?: string } {
  return { [name]: value } as { readonly [Each in Name]?: string };
}

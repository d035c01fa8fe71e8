/** Fields that filter a list; what they say is in the address. */

import { type ReactNode, useEffect, useState } from "react";

const PAUSE_MS = 250;

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly change: (name: string, value: string) => void;
}

/** Asks when a person has stopped typing. */
export function TextFilter({ name, label, value, change }: TextFilterProps): ReactNode {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that is waited for.
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => change(name, text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        type="search"
        data-testid={`filter-${name}`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </label>
  );
}

interface ChoiceProps extends TextFilterProps {
  readonly choices: readonly string[];
}

export function ChoiceFilter({ name, label, value, choices, change }: ChoiceProps): ReactNode {
  return (
    <label className="filter">
      <span>{label}</span>
      <select
        data-testid={`filter-${name}`}
        value={value}
        onChange={(event) => change(name, event.target.value)}
      >
        <option value="">all</option>
        {[...new Set([...choices, ...(value === "" ? [] : [value])])].map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

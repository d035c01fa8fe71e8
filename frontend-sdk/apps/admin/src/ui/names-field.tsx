/** No list, or those on it: people, or models, one to a line. */

import { type ReactNode, useId, useState } from "react";

export type Names = readonly string[] | null;

interface NamesProps {
  readonly legend: string;
  readonly testId: string;
  readonly value: Names;
  readonly change: (names: Names) => void;
  /** What no list means, and what a list does. */
  readonly nobody: string;
  readonly listed: string;
  readonly hint: string;
  readonly disabled: boolean;
}

export function NamesField(props: NamesProps): ReactNode {
  const { legend, testId, value, change, nobody, listed, hint, disabled } = props;
  const id = useId();
  // What is typed has empty lines that the list has not.
  const [typed, setTyped] = useState<string>();
  const shown = typed !== undefined && same(namesIn(typed), value) ? typed : textOf(value);
  return (
    <fieldset className="names" data-testid={testId} disabled={disabled}>
      <legend>{legend}</legend>
      <label className="option">
        <input
          type="radio"
          name={id}
          checked={value === null}
          data-testid={`${testId}-none`}
          onChange={() => change(null)}
        />
        <span>{nobody}</span>
      </label>
      <label className="option">
        <input
          type="radio"
          name={id}
          checked={value !== null}
          data-testid={`${testId}-some`}
          onChange={() => change(namesIn(typed ?? ""))}
        />
        <span>{listed}</span>
      </label>
      {value !== null && (
        <label className="list">
          <span className="soft">{hint}</span>
          <textarea
            className="code"
            rows={Math.min(8, Math.max(2, value.length + 1))}
            data-testid={`${testId}-list`}
            spellCheck={false}
            value={shown}
            onChange={(event) => {
              setTyped(event.target.value);
              change(namesIn(event.target.value));
            }}
          />
        </label>
      )}
    </fieldset>
  );
}

/** Return the names in a text, each once: one to a line, or between commas. */
export function namesIn(text: string): readonly string[] {
  return [
    ...new Set(
      text
        .split(/[\n,]/)
        .map((name) => name.trim())
        .filter((name) => name !== ""),
    ),
  ];
}

function textOf(names: Names): string {
  return (names ?? []).join("\n");
}

function same(one: Names, other: Names): boolean {
  return textOf(one) === textOf(other) && (one === null) === (other === null);
}

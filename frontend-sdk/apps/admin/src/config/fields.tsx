/** The controls of an override's fields. */

import { type ReactNode, useId } from "react";
import type { OverrideView } from "../admin.gen.js";
import { autonomyWords, NAMES } from "./content.js";

interface ControlProps<Value> {
  readonly value: Value;
  readonly change: (value: Value) => void;
}

export function Instructions({ value, change }: ControlProps<string>): ReactNode {
  return (
    <textarea
      className="code"
      aria-label={NAMES.instructions}
      rows={Math.min(24, Math.max(5, value.split("\n").length + 1))}
      data-testid="field-instructions"
      value={value}
      onChange={(event) => change(event.target.value)}
    />
  );
}

interface ModelProps extends ControlProps<string> {
  readonly view: OverrideView;
}

/** Where a list says which may be chosen, one of it; else any that has a provider. */
export function Model({ view, value, change }: ModelProps): ReactNode {
  const { models, code } = view;
  if (models === null) {
    return (
      <input
        type="text"
        aria-label={NAMES.model}
        placeholder="provider:model"
        spellCheck={false}
        data-testid="field-model"
        value={value}
        onChange={(event) => change(event.target.value)}
      />
    );
  }
  return (
    <>
      <select
        aria-label={NAMES.model}
        data-testid="field-model"
        value={value}
        onChange={(event) => change(event.target.value)}
      >
        {[...new Set([...models, code.model, value])].map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <p className="soft">Which models may be chosen is said under Governance.</p>
    </>
  );
}

type Autonomies = "as_coded" | "always_ask";

const MEANINGS: Readonly<Record<Autonomies, string>> = {
  as_coded: "only the tools that the code marks wait for a person",
  always_ask: "every tool of the code waits for a person",
};

export function Autonomy({ value, change }: ControlProps<Autonomies>): ReactNode {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={NAMES.autonomy} data-testid="field-autonomy">
      {(["as_coded", "always_ask"] as const).map((one) => (
        <label key={one} className="option">
          <input
            type="radio"
            name={name}
            checked={value === one}
            data-testid={`autonomy-${one}`}
            onChange={() => change(one)}
          />
          <span>
            {autonomyWords(one)} <span className="soft">{MEANINGS[one]}</span>
          </span>
        </label>
      ))}
    </div>
  );
}

export function Turns({ value, change }: ControlProps<number>): ReactNode {
  return (
    <input
      type="number"
      min={1}
      step={1}
      aria-label={NAMES.maxTurns}
      data-testid="field-maxTurns"
      value={Number.isNaN(value) ? "" : value}
      onChange={(event) => change(event.target.valueAsNumber)}
    />
  );
}

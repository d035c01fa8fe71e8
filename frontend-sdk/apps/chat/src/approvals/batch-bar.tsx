/** Several calls wait: mark some, or all, and decide them together, all or none. */

import { type ReactNode, useState } from "react";
import { useDeciding } from "./deciding.js";

export function BatchBar(): ReactNode {
  const { mine, selected, select, decideAll } = useDeciding();
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  if (mine.length < 2) return null;
  const ids = mine.map(({ id }) => id);
  const all = selected.size === ids.length;

  const decide = async (decision: "approved" | "denied") => {
    setBusy(true);
    setTrouble(undefined);
    const chosen = mine.filter(({ id }) => selected.has(id));
    try {
      await decideAll(chosen.map((approval) => ({ approval, decision })));
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const count = selected.size > 0 ? ` (${selected.size})` : "";
  const idle = busy || selected.size === 0;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form, this is a bar of tools.
    <div className="batch" role="group" aria-label="Decide together" data-testid="batch-bar">
      <p>{mine.length} calls wait for you</p>
      <div className="choices">
        <button
          type="button"
          data-testid="select-all"
          aria-pressed={all}
          disabled={busy}
          onClick={() => select(ids, !all)}
        >
          Select all
        </button>
        <button
          type="button"
          data-testid="reject-selected"
          disabled={idle}
          onClick={() => void decide("denied")}
        >
          Reject selected{count}
        </button>
        <button
          type="button"
          className="primary"
          data-testid="approve-selected"
          disabled={idle}
          onClick={() => void decide("approved")}
        >
          Approve selected{count}
        </button>
      </div>
      {trouble !== undefined && (
        <p className="trouble" role="alert" data-testid="batch-trouble">
          {trouble}
        </p>
      )}
    </div>
  );
}

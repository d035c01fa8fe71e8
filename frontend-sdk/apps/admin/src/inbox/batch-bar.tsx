/** Deciding many at once: of each thread all that is selected, or none. */

import { type ReactNode, useState } from "react";
import type { ApprovalDecision, ApprovalRecord } from "ropewalk";
import { useClient } from "ropewalk/react";
import { counted } from "../ui/moments.js";
import { type BatchOutcome, decideMany } from "./deciding.js";
import { byThread } from "./grouping.js";

interface BatchProps {
  readonly chosen: readonly ApprovalRecord[];
  /** How many the caller may decide. */
  readonly total: number;
  readonly selectAll: () => void;
  readonly clear: () => void;
}

export function BatchBar({ chosen, total, selectAll, clear }: BatchProps): ReactNode {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState("");
  const [outcome, setOutcome] = useState<BatchOutcome>();
  const some = chosen.length > 0;
  const threads = byThread(chosen).length;

  const decide = async (decision: ApprovalDecision) => {
    setBusy(true);
    const said = reason.trim();
    const verdict = { decision, ...(said !== "" && { reason: said }) };
    setOutcome(await decideMany(client, chosen, verdict));
    setBusy(false);
    setReason("");
  };

  return (
    <section className={`together${some ? " some" : ""}`} aria-label="Decide several">
      <div className="choices">
        <button
          type="button"
          className="small"
          data-testid="select-all"
          disabled={busy || total === 0}
          onClick={chosen.length === total ? clear : selectAll}
        >
          {some && chosen.length === total ? "Select none" : "Select all"}
        </button>
        <span className="count" role="status" data-testid="selected-count">
          {some
            ? `${chosen.length} of ${total} selected${threads > 1 ? `, in ${threads} conversations` : ""}`
            : `${counted(total, "call")} for you to decide`}
        </span>
        {some && (
          <>
            <input
              type="text"
              className="reason"
              aria-label="Reason for all of them"
              placeholder="Reason (optional)"
              maxLength={2000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
            <button
              type="button"
              className="primary"
              data-testid="approve-selected"
              disabled={busy}
              onClick={() => void decide("approved")}
            >
              {busy ? "Deciding…" : "Approve selected"}
            </button>
            <button
              type="button"
              className="grave"
              data-testid="reject-selected"
              disabled={busy}
              onClick={() => void decide("denied")}
            >
              Reject selected
            </button>
          </>
        )}
      </div>
      {outcome !== undefined && outcome.failures.length > 0 && (
        <div className="trouble" role="alert" data-testid="batch-trouble">
          <p>{counted(outcome.decided, "call")} decided. These were not:</p>
          <ul>
            {outcome.failures.map((failure) => (
              <li key={failure}>{failure}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

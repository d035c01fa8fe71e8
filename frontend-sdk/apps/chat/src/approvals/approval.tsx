/** A call that waits, or waited, for a person: the decision, or what became of it. */

import { type ReactNode, type RefObject, useEffect, useState } from "react";
import type { ApprovalRecord } from "ropewalk";
import { Decided } from "./decided.js";
import { useDeciding } from "./deciding.js";
import { EditForm } from "./edit-form.js";
import { RejectForm } from "./reject-form.js";
import { Terms } from "./terms.js";

interface ApprovalProps {
  readonly approval: ApprovalRecord;
  /** Gets the focus when the controls go away under it. */
  readonly card: RefObject<HTMLElement | null>;
}

type Mode = "asking" | "rejecting" | "editing";

export function Approval({ approval, card }: ApprovalProps): ReactNode {
  const { approve, reject, edit, mine, selected, select } = useDeciding();
  const [mode, setMode] = useState<Mode>("asking");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const waits = approval.status === "pending";

  useEffect(() => {
    // Decided, here or elsewhere: should it come back, it asks anew.
    if (!waits) setMode((before) => (before === "editing" ? before : "asking"));
  }, [waits]);

  const decide = async (decision: Promise<void>) => {
    setBusy(true);
    setTrouble(undefined);
    card.current?.focus({ preventScroll: true });
    try {
      await decision;
      setMode("asking");
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const back = () => {
    setMode("asking");
    setTrouble(undefined);
  };
  const problem = trouble !== undefined && (
    <p className="trouble" role="alert" data-testid="decision-trouble">
      {trouble}
    </p>
  );

  if (!waits) {
    return (
      <>
        <Decided approval={approval} />
        {problem}
      </>
    );
  }
  return (
    <div className="decision" data-testid="approval-card" data-approval-id={approval.id}>
      <div className="question">
        {mine.length > 1 && approval.mayDecide && (
          <input
            type="checkbox"
            data-testid="select"
            aria-label={`Select ${approval.name}`}
            checked={selected.has(approval.id)}
            onChange={(event) => select([approval.id], event.target.checked)}
          />
        )}
        <div>
          <p>
            Shall <code>{approval.name}</code> go ahead?
          </p>
          <Terms approval={approval} />
        </div>
      </div>
      {approval.mayDecide && mode === "asking" && (
        <div className="choices">
          <button
            type="button"
            className="primary"
            data-testid="approve"
            disabled={busy}
            onClick={() => void decide(approve(approval))}
          >
            Approve
          </button>
          <button
            type="button"
            data-testid="deny"
            disabled={busy}
            onClick={() => setMode("rejecting")}
          >
            Reject
          </button>
          {approval.editable && (
            <button
              type="button"
              data-testid="edit"
              disabled={busy}
              onClick={() => setMode("editing")}
            >
              Edit
            </button>
          )}
        </div>
      )}
      {approval.mayDecide && mode === "rejecting" && (
        <RejectForm
          busy={busy}
          reject={(reason) => void decide(reject(approval, reason))}
          back={back}
        />
      )}
      {approval.mayDecide && mode === "editing" && (
        <EditForm
          input={approval.input}
          busy={busy}
          approve={(input) => void decide(edit(approval, input))}
          back={back}
        />
      )}
      {problem}
    </div>
  );
}

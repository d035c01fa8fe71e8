/** The deciding of one call: approve, reject with a reason, or approve with other arguments. */

import { type SubmitEvent, useState } from "react";
import type { PendingApproval } from "ropewalk";
import type { Actions } from "./message.js";
import { argumentsIn, readable } from "./words.js";

interface ApprovalProps {
  readonly approval: PendingApproval;
  readonly actions: Actions;
}

export function Approval({ approval, actions }: ApprovalProps) {
  const [answering, setAnswering] = useState<"reject" | "edit">();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();

  const open = (how: "reject" | "edit") => {
    setAnswering(how);
    setText(how === "edit" ? readable(approval.input) : "");
    setTrouble(undefined);
  };
  const decide = async (decision: () => Promise<void>) => {
    setBusy(true);
    try {
      await decision();
    } catch (thrown) {
      setTrouble(thrown instanceof Error ? thrown.message : String(thrown));
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void decide(async () => {
      if (answering === "reject") await actions.reject(approval, text.trim());
      else await actions.edit(approval, argumentsIn(text));
    });
  };
  return (
    <div className="approval">
      {answering === undefined ? (
        <p className="choices">
          <button
            type="button"
            className="primary"
            disabled={busy}
            onClick={() => void decide(() => actions.approve(approval))}
          >
            Approve
          </button>
          <button type="button" disabled={busy} onClick={() => open("reject")}>
            Reject…
          </button>
          {approval.editable && (
            <button type="button" disabled={busy} onClick={() => open("edit")}>
              Edit…
            </button>
          )}
        </p>
      ) : (
        <form onSubmit={submit}>
          <textarea
            // biome-ignore lint/a11y/noAutofocus: it was opened by a person just now.
            autoFocus
            rows={answering === "edit" ? 5 : 2}
            aria-label={answering === "edit" ? "Arguments, as JSON" : "Reason, if you like"}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <p className="choices">
            <button type="submit" className="primary" disabled={busy}>
              {answering === "edit" ? "Approve with changes" : "Reject"}
            </button>
            <button type="button" onClick={() => setAnswering(undefined)}>
              Back
            </button>
          </p>
        </form>
      )}
      {trouble && (
        <p className="error" role="alert">
          {trouble}
        </p>
      )}
    </div>
  );
}

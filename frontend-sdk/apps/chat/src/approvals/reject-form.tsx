/** Why a call is refused; the model is told. Enter refuses, Escape goes back. */

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { escapes } from "./escapes.js";

interface RejectFormProps {
  readonly busy: boolean;
  readonly reject: (reason: string | undefined) => void;
  readonly back: () => void;
}

export function RejectForm({ busy, reject, back }: RejectFormProps): ReactNode {
  const [reason, setReason] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    reject(reason.trim() || undefined);
  };
  return (
    <form className="answer" data-testid="reject-form" onSubmit={submit} onKeyDown={escapes(back)}>
      <input
        ref={input}
        value={reason}
        maxLength={2000}
        aria-label="Reason, if you like"
        placeholder="Reason, if you like"
        data-testid="reason"
        onChange={(event) => setReason(event.target.value)}
      />
      <div className="choices">
        <button type="submit" className="danger" data-testid="deny-confirm" disabled={busy}>
          Reject
        </button>
        <button type="button" data-testid="back" onClick={back}>
          Back
        </button>
      </div>
    </form>
  );
}

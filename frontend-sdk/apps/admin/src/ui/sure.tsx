/** A button for what takes effect at once: it asks once more, with room for a note. */

import { type FormEvent, type ReactNode, useState } from "react";
import { useAct } from "./use-act.js";

interface SureProps {
  readonly name: string;
  /** What happens then. */
  readonly then: string;
  readonly disabled?: boolean;
  readonly testId: string;
  readonly act: (note: string | undefined) => Promise<unknown>;
}

export function Sure({ name, then, disabled, testId, act }: SureProps): ReactNode {
  const [asking, setAsking] = useState(false);
  const [note, setNote] = useState("");
  const { busy, trouble, act: doing, forget } = useAct();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await doing(() => act(note.trim() || undefined)))) return;
    setAsking(false);
    setNote("");
  };
  if (!asking) {
    return (
      <button
        type="button"
        data-testid={testId}
        disabled={disabled}
        onClick={() => setAsking(true)}
      >
        {name}…
      </button>
    );
  }
  return (
    <form className="sure" onSubmit={(event) => void submit(event)}>
      <p>{then}</p>
      <input
        type="text"
        // biome-ignore lint/a11y/noAutofocus: it opens because a person asked for it.
        autoFocus
        aria-label="Note for the list of versions"
        placeholder="Note (optional)"
        maxLength={300}
        data-testid={`${testId}-note`}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="choices">
        <button type="submit" className="primary" data-testid={`${testId}-sure`} disabled={busy}>
          {name}
        </button>
        <button
          type="button"
          onClick={() => {
            setAsking(false);
            forget();
          }}
        >
          Back
        </button>
      </div>
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </form>
  );
}

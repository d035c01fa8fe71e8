/** The arguments of a call as JSON, to be changed before it is made. */

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { type Input, inputOf } from "./edited.js";
import { escapes } from "./escapes.js";

interface EditFormProps {
  readonly input: unknown;
  readonly busy: boolean;
  readonly approve: (input: Input) => void;
  readonly back: () => void;
}

export function EditForm({ input, busy, approve, back }: EditFormProps): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(input, null, 2));
  const [problem, setProblem] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const problemId = useId();
  useEffect(() => area.current?.focus(), []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const read = inputOf(text);
    if ("problem" in read) {
      setProblem(read.problem);
      area.current?.focus();
    } else {
      approve(read.input);
    }
  };
  return (
    <form className="answer" data-testid="edit-form" onSubmit={submit} onKeyDown={escapes(back)}>
      <textarea
        ref={area}
        value={text}
        rows={Math.min(12, text.split("\n").length + 1)}
        spellCheck={false}
        aria-label="Arguments, as JSON"
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : problemId}
        data-testid="arguments"
        onChange={(event) => {
          setText(event.target.value);
          setProblem(undefined);
        }}
      />
      {problem !== undefined && (
        <p className="trouble" role="alert" id={problemId} data-testid="edit-problem">
          {problem}
        </p>
      )}
      <div className="choices">
        <button type="submit" className="primary" data-testid="approve-edited" disabled={busy}>
          {busy ? "Approving…" : "Approve with changes"}
        </button>
        <button type="button" data-testid="back" onClick={back}>
          Back
        </button>
      </div>
    </form>
  );
}

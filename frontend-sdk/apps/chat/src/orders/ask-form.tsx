/** A question about an order. Enter asks, Escape puts it away. */

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";

interface AskFormProps {
  readonly number: number;
  readonly ask: (question: string) => Promise<void>;
  readonly close: () => void;
}

export function AskForm({ number, ask, close }: AskFormProps): ReactNode {
  const [question, setQuestion] = useState("Where is it?");
  const [asking, setAsking] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setAsking(true);
    await ask(question.trim());
    setAsking(false);
  };
  return (
    <form
      className="ask"
      data-testid="ask-form"
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <input
        ref={input}
        value={question}
        maxLength={2000}
        aria-label={`Your question about order ${number}`}
        enterKeyHint="send"
        onChange={(event) => setQuestion(event.target.value)}
      />
      <button type="submit" className="primary" disabled={asking || question.trim() === ""}>
        Ask
      </button>
    </form>
  );
}

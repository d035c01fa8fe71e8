/** Saying something: a text, and what becomes of it. Ctrl+Enter sends. */

import { type FormEvent, type ReactNode, useState } from "react";
import { useAct } from "./use-act.js";

interface SayProps {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly button: string;
  readonly whileBusy: string;
  readonly buttonTestId: string;
  readonly send: (text: string) => Promise<unknown>;
  readonly children?: ReactNode;
}

export function SayForm(props: SayProps): ReactNode {
  const { name, label, placeholder, button, whileBusy, buttonTestId, send, children } = props;
  const [text, setText] = useState("");
  const { busy, trouble, act } = useAct();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await act(() => send(text.trim()))) setText("");
  };
  return (
    <form className="say" onSubmit={(event) => void submit(event)}>
      <label htmlFor={name}>{label}</label>
      <textarea
        id={name}
        rows={2}
        data-testid={name}
        placeholder={placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.currentTarget.form?.requestSubmit();
          }
        }}
      />
      {children}
      <button
        type="submit"
        className="primary"
        data-testid={buttonTestId}
        disabled={busy || text.trim() === ""}
      >
        {busy ? whileBusy : button}
      </button>
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </form>
  );
}

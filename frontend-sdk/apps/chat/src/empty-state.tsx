import type { ReactNode } from "react";
import { Logo } from "./icons.js";

const EXAMPLES = [
  { text: "What's the weather in Oslo?", hint: "calls a tool" },
  { text: "Where is order 1001?", hint: "looks something up" },
  { text: "Refund order 1002, 60 dollars", hint: "asks you first" },
  { text: "Refund orders 1001, 1002 and 1003, 60 dollars each", hint: "asks three times" },
];

/** What a new chat shows: who is here, and some ways to begin. */
export function EmptyState({ pick }: { readonly pick: (text: string) => void }): ReactNode {
  return (
    <section className="empty" data-testid="empty">
      <Logo />
      <h2>How can I help?</h2>
      <p>Close the tab, reload, come back from your phone: the answer goes on without you.</p>
      <ul>
        {EXAMPLES.map(({ text, hint }) => (
          <li key={text}>
            <button type="button" data-testid="example" onClick={() => pick(text)}>
              <span>{text}</span>
              <small>{hint}</small>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

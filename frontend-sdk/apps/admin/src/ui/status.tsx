/** A status in a word and a colour; never in a colour alone. */

import type { ReactNode } from "react";

const WORDS: Readonly<Record<string, string>> = {
  awaiting_input: "awaiting a decision",
  denied: "rejected",
};

export function wordsOf(status: string): string {
  return WORDS[status] ?? status;
}

export function Status({ status }: { readonly status: string }): ReactNode {
  return (
    <span className={`mark ${status}`} data-testid="run-status" data-status={status}>
      {wordsOf(status)}
    </span>
  );
}

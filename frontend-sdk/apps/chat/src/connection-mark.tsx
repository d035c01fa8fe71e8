/** Where the connection stands: a quiet dot while all is well, words when it is not. */

import { type ReactNode, useEffect, useState } from "react";
import type { ConnectionState } from "ropewalk";
import { useConnection } from "ropewalk/react";

/** A reconnect that is over before one can read about it is not worth a word. */
const PATIENCE_MS = 800;

export function ConnectionMark(): ReactNode {
  const state = useConnection();
  const open = state.name === "open";
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (open) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [open]);
  return (
    <span
      className={`connection ${open ? "open" : late ? "closed" : "opening"}`}
      data-testid="connection"
      data-state={state.name}
      role="status"
    >
      <span className="dot" aria-hidden="true" />
      <span className={open ? "words hidden" : "words"}>
        {open ? "Connected" : late ? wordsFor(state) : ""}
      </span>
    </span>
  );
}

function wordsFor(state: ConnectionState): string {
  if (state.name === "stopped") return "Reload the page";
  if (state.name === "waiting" && state.error?.code === "UNAUTHENTICATED") return "Signed out";
  return "Reconnecting…";
}

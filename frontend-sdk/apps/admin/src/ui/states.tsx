/** What stands where there is nothing to show: yet, at all, or because something is wrong. */

import { type ReactNode, useEffect, useState } from "react";
import type { RopewalkError } from "ropewalk";
import { useConnection } from "ropewalk/react";

const PATIENCE_MS = 250;

/** Says so only when it takes long enough to be noticed. */
export function Loading({ what }: { readonly what: string }): ReactNode {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="loading" role="status">
      {late && (
        <>
          <span className="spinner" aria-hidden="true" />
          Loading {what} …
        </>
      )}
    </p>
  );
}

export function Empty(props: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className="nothing" data-testid="empty">
      <h2>{props.title}</h2>
      {props.children && <div>{props.children}</div>}
    </div>
  );
}

export function Trouble({ error }: { readonly error: RopewalkError }): ReactNode {
  return (
    <div className="banner" role="alert" data-testid="trouble" data-code={error.code}>
      <p>
        {error.code === "FORBIDDEN" ? "Your token does not allow this: " : ""}
        {error.message}
      </p>
    </div>
  );
}

/** Words over the page while what it shows may be old. */
export function Offline(): ReactNode {
  const state = useConnection();
  const [late, setLate] = useState(false);
  const open = state.name === "open";
  useEffect(() => {
    setLate(false);
    if (open) return;
    const timer = setTimeout(() => setLate(true), 1_500);
    return () => clearTimeout(timer);
  }, [open]);
  if (!late) return null;
  return (
    <p className="offline" role="status" data-testid="offline">
      Not connected. What you see may be old; it is brought up to date by itself.
    </p>
  );
}

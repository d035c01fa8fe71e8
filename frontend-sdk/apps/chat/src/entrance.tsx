/** The chat, or why it is closed here: without a session none of it would work. */

import type { ReactNode } from "react";
import { App } from "./app.js";
import { Logo } from "./icons.js";
import { useRefusal } from "./session.js";

export function Entrance(): ReactNode {
  const refusal = useRefusal();
  if (refusal === undefined) return <App />;
  return (
    <main className="empty" data-testid="not-signed-in">
      <Logo />
      <h1>This page is not signed in</h1>
      <p role="alert">{refusal}</p>
    </main>
  );
}

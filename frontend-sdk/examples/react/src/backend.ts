/** Where the agents are, which of them we talk to, and who we are there. */

import { createClient, defineApi } from "ropewalk";

/** The functions that every server has. `ropewalk codegen` writes one with your own beside them. */
export const api = defineApi({});

export const AGENT = "support";

/** Asked on every connect. This one is of `ropewalk dev`; yours asks whoever signs your users in. */
async function token(): Promise<string> {
  const answer = await fetch("/dev/session", { cache: "no-store" });
  if (!answer.ok) throw new Error(`no session: ${answer.status}`);
  return ((await answer.json()) as { readonly token: string }).token;
}

export const client = createClient({ token });

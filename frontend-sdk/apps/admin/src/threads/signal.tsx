/** Saying something into a conversation from outside, as who is signed in. */

import { type ReactNode, useState } from "react";
import type { ThreadView } from "ropewalk";
import { post } from "../http.js";
import { SayForm } from "../ui/say-form.js";

interface SignalProps {
  readonly thread: Pick<ThreadView, "agent" | "key">;
  readonly busy: boolean;
}

type Mode = "queue" | "inject";

export function Signal({ thread, busy }: SignalProps): ReactNode {
  const [mode, setMode] = useState<Mode>("queue");
  return (
    <SayForm
      name="signal"
      label="Say something into it"
      button="Send"
      whileBusy="Sending…"
      buttonTestId="send-signal"
      send={(text) => signal(thread, text, mode)}
    >
      {busy && (
        <label className="filter">
          <span>Read</span>
          <select
            data-testid="signal-mode"
            value={mode}
            onChange={(event) => setMode(event.target.value as Mode)}
          >
            <option value="queue">when the run has ended</option>
            <option value="inject">before its next step</option>
          </select>
        </label>
      )}
    </SayForm>
  );
}

async function signal(
  { agent, key }: SignalProps["thread"],
  message: string,
  mode: Mode,
): Promise<void> {
  const session = `/agents/${encodeURIComponent(agent)}/sessions/${encodeURIComponent(key)}`;
  await post(`${session}/signals`, { message, mode });
}

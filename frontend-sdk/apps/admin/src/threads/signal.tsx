/** Saying something into a conversation from outside, as who is signed in. */

import { type FormEvent, type ReactNode, useState } from "react";
import type { ThreadView } from "ropewalk";
import { currentToken } from "../token.js";

interface SignalProps {
  readonly thread: Pick<ThreadView, "agent" | "key">;
  readonly busy: boolean;
}

type Mode = "queue" | "inject";

export function Signal({ thread, busy }: SignalProps): ReactNode {
  const [text, setText] = useState("");
  const [mode, setMode] = useState<Mode>("queue");
  const [sending, setSending] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setTrouble(undefined);
    try {
      await signal(thread, text.trim(), mode);
      setText("");
    } catch (thrown) {
      setTrouble(thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      setSending(false);
    }
  };
  return (
    <form className="say" onSubmit={(event) => void send(event)}>
      <label htmlFor="signal">Say something into it</label>
      <textarea
        id="signal"
        rows={2}
        data-testid="signal"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
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
      <button
        type="submit"
        className="primary"
        data-testid="send-signal"
        disabled={sending || text.trim() === ""}
      >
        {sending ? "Sending…" : "Send"}
      </button>
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </form>
  );
}

async function signal(
  { agent, key }: SignalProps["thread"],
  message: string,
  mode: Mode,
): Promise<void> {
  const token = await currentToken();
  const response = await fetch(
    `/agents/${encodeURIComponent(agent)}/sessions/${encodeURIComponent(key)}/signals`,
    {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ message, mode }),
    },
  );
  if (response.ok) return;
  const body = (await response.json().catch(() => ({}))) as { readonly message?: string };
  throw new Error(body.message ?? `The server answered ${response.status}.`);
}

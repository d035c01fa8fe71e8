/** One conversation: what was said, what is being said, and what one can say to it. */

import { type KeyboardEvent, type SubmitEvent, useMemo, useState } from "react";
import { entriesOf, isBusy } from "ropewalk";
import { useAgentChat, useConnection } from "ropewalk/react";
import { AGENT, api } from "./backend.js";
import { Message } from "./message.js";
import { keep } from "./threads.js";
import { isLast, isSending, quietly, statusWord } from "./words.js";

const CALLS = {
  run: api.agents.agentRun,
  cancel: api.agents.agentCancel,
  runArgs: { agent: AGENT },
};

export function Conversation({ threadKey }: { readonly threadKey: string }) {
  const chat = useAgentChat(api, { threadKey, ...CALLS });
  const connection = useConnection();
  // The same functions as long as the conversation is the same one.
  const { approve, reject, edit, regenerate, selectBranch } = chat;
  const actions = useMemo(
    () => ({ approve, reject, edit, regenerate, selectBranch }),
    [approve, reject, edit, regenerate, selectBranch],
  );
  const title = chat.thread?.title ?? chat.messages[0]?.text ?? "New conversation";

  const send = (text: string) => {
    keep(threadKey, text);
    return chat.send(text);
  };
  return (
    <main>
      <header>
        <h1>{title}</h1>
        <p role="status" data-status={chat.status}>
          {statusWord(chat.status)}
        </p>
        <p className="connection" data-connection={connection.name}>
          {connection.name === "open" ? "Connected" : "Connecting…"}
        </p>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keys. */}
      <div className="scroller" tabIndex={0}>
        <div role="log" aria-label="Conversation" aria-busy={chat.live.length > 0}>
          {chat.hasOlder && (
            <button
              type="button"
              disabled={chat.loadingOlder}
              onClick={() => quietly(chat.loadOlder())}
            >
              Earlier messages
            </button>
          )}
          {entriesOf(chat).map((entry) => (
            <Message
              key={entry.key}
              entry={entry}
              ways={chat.branches.find(({ messageId }) => messageId === entry.message?.id)}
              isLast={isLast(entry, chat)}
              actions={actions}
            />
          ))}
        </div>
      </div>
      {chat.error && (
        <p className="error" role="alert">
          {chat.error.message}
          {chat.status === "failed" && (
            <button type="button" onClick={() => quietly(chat.retry())}>
              Try again
            </button>
          )}
        </p>
      )}
      <Composer key={threadKey} busy={isBusy(chat.status)} send={send} stop={chat.cancel} />
    </main>
  );
}

interface ComposerProps {
  readonly busy: boolean;
  readonly send: (text: string) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

function Composer({ busy, send, stop }: ComposerProps) {
  const [draft, setDraft] = useState("");

  const submit = async (event: SubmitEvent | KeyboardEvent) => {
    event.preventDefault();
    const text = draft.trim();
    if (text === "") return;
    setDraft("");
    // The chat says why it failed; what was written comes back, unless something new was begun.
    await send(text).catch(() => setDraft((now) => now || text));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isSending(event.nativeEvent)) void submit(event);
  };
  return (
    <form className="composer" onSubmit={(event) => void submit(event)}>
      <textarea
        rows={1}
        aria-label="Message"
        placeholder="Ask anything"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {busy && (
        <button type="button" onClick={() => quietly(stop())}>
          Stop
        </button>
      )}
      <button type="submit" className="primary">
        Send
      </button>
    </form>
  );
}

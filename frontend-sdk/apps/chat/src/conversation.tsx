/** One thread: what was said, what is being said, and what one can say to it. */

import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { type ChatStatus, entriesOf, isBusy } from "ropewalk";
import { useAgentChat } from "ropewalk/react";
import { agents, api } from "./api.gen.js";
import { BatchBar } from "./approvals/batch-bar.js";
import { DecidingProvider, useDeciding } from "./approvals/deciding.js";
import { BranchingProvider } from "./branches/branching.js";
import { Composer } from "./composer.js";
import { ConnectionMark } from "./connection-mark.js";
import { EmptyState } from "./empty-state.js";
import { Entries } from "./entries.js";
import { Icon } from "./icons.js";
import { useStickToEnd } from "./use-stick-to-end.js";

interface ConversationProps {
  readonly threadKey: string;
  /** How many calls wait for whoever looks, here and elsewhere. */
  readonly waiting: number;
  /** The list lies over it. */
  readonly covered: boolean;
  readonly openList: () => void;
  /** Told of the thread's title once it has one. */
  readonly note: (key: string, title: string, updatedAt: number) => void;
  /** What stands at the end of the header. */
  readonly children: ReactNode;
}

const HOVERS = matchMedia("(hover: hover)");

const WORDS: Record<ChatStatus, string> = {
  loading: "Loading",
  idle: "Ready",
  queued: "Starting",
  running: "Working",
  awaiting_input: "Needs approval",
  completed: "Ready",
  failed: "Failed",
  cancelled: "Stopped",
};

/** Statuses that go without saying, but not without being heard. */
const QUIET: ReadonlySet<ChatStatus> = new Set(["loading", "idle", "completed"]);

type Chat = ReturnType<typeof useAgentChat<typeof api.chat.startRun>>;

export function Conversation(props: ConversationProps): ReactNode {
  const { threadKey } = props;
  const chat = useAgentChat(api, {
    threadKey,
    run: api.chat.startRun,
    cancel: api.chat.cancelRun,
    stream: true,
  });
  const { thread, status } = chat;
  return (
    // A branch that is on its way has no run yet.
    <DecidingProvider
      threadKey={thread?.key ?? threadKey}
      none={status === "queued" && thread?.runId === null}
    >
      <Thread {...props} chat={chat} />
    </DecidingProvider>
  );
}

function Thread(props: ConversationProps & { readonly chat: Chat }): ReactNode {
  const { threadKey, waiting, covered, openList, note, children, chat } = props;
  const { messages, live, thread, error } = chat;
  // While another agent waits that was given work, this one goes on; a person is asked all the same.
  const { waiting: here, mine } = useDeciding();
  const status = here > 0 && isBusy(chat.status) ? "awaiting_input" : chat.status;
  const [draft, setDraft] = useState("");
  const input = useRef<HTMLTextAreaElement>(null);
  const busy = isBusy(status);
  const writing = live.length > 0;
  const calling = messages.some((message) => message.status === "open");
  const first = messages[0]?.seq === 1 ? messages[0].text : undefined;
  const title = thread?.title ?? first?.slice(0, 80);
  const { end, scroller, away, jump } = useStickToEnd(messages[0]?.seq);

  useEffect(() => {
    if (title === undefined) return;
    note(threadKey, title, thread ? Date.parse(thread.updatedAt) : Date.now());
  }, [note, threadKey, title, thread]);
  useEffect(() => {
    const name = title === undefined ? "Ropewalk" : `${title} · Ropewalk`;
    document.title = waiting > 0 ? `(${waiting}) ${name}` : name;
  }, [title, waiting]);
  useEffect(() => {
    // On a phone this would open the keyboard over the chat.
    if (HOVERS.matches) input.current?.focus();
  }, []);

  const said = useCallback(() => {
    jump();
    if (HOVERS.matches) input.current?.focus();
  }, [jump]);
  const send = (text: string) => {
    jump();
    // A conversation stays with the agent that it was begun with.
    return chat.send(text, thread?.agent === agents.orderDesk ? { agent: agents.orderDesk } : {});
  };

  return (
    <main className="conversation" inert={covered}>
      <header className="bar">
        <button
          type="button"
          className="quiet square list"
          aria-label="Show conversations"
          onClick={openList}
        >
          <Icon name="menu" />
        </button>
        <h1>{title ?? "New chat"}</h1>
        <span
          className={QUIET.has(status) ? "hidden" : `status ${status}`}
          data-testid="status"
          data-status={status}
        >
          {mine.length > 0 ? "Needs your approval" : WORDS[status]}
        </span>
        <ConnectionMark />
        {children}
      </header>
      <div className="scroll" ref={scroller}>
        <div className="column">
          {chat.hasOlder && (
            <button
              type="button"
              className="older"
              data-testid="load-older"
              disabled={chat.loadingOlder}
              onClick={() => void chat.loadOlder()}
            >
              {chat.loadingOlder ? "Loading…" : "Earlier messages"}
            </button>
          )}
          {messages.length === 0 && !writing && (status === "idle" || status === "completed") && (
            <EmptyState pick={(text) => void send(text).catch(() => setDraft(text))} />
          )}
          <div role="log" aria-label="Conversation" aria-busy={writing} className="log">
            <BranchingProvider chat={chat} said={said}>
              <Entries entries={entriesOf({ messages, live })} />
            </BranchingProvider>
          </div>
          {(status === "queued" || status === "running") && !writing && !calling && (
            <p className="working" data-testid="working">
              <span className="dots" aria-hidden="true" />
              <span className="hidden">Working</span>
            </p>
          )}
          {status === "cancelled" && <p className="note">You stopped this.</p>}
          {error && (
            <div className="banner" role="alert" data-testid="error" data-code={error.code}>
              <Icon name="alert" />
              <p>{error.message}</p>
              {status === "failed" && (
                // What it may be refused for is shown here in its place.
                <Again again={() => void chat.retry().catch(() => {})} />
              )}
            </div>
          )}
          <div ref={end} className="end" />
        </div>
      </div>
      <footer className="foot">
        {away && (
          <button type="button" className="jump" aria-label="To the newest message" onClick={jump}>
            <Icon name="down" />
          </button>
        )}
        <BatchBar />
        <Composer
          busy={busy}
          send={send}
          stop={chat.cancel}
          input={input}
          draft={draft}
          setDraft={setDraft}
        />
      </footer>
    </main>
  );
}

function Again({ again }: { readonly again: () => void }): ReactNode {
  return (
    <button type="button" data-testid="try-again" onClick={again}>
      Try again
    </button>
  );
}

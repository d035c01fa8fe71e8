/** One conversation as its person sees it, live; and what an operator sees besides. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import { entriesOf, isBusy } from "ropewalk";
import { useAgentChat, useAgentState } from "ropewalk/react";
import { BatchBar } from "../../../chat/src/approvals/batch-bar.js";
import { DecidingProvider } from "../../../chat/src/approvals/deciding.js";
import { Entries } from "../../../chat/src/entries.js";
import { api } from "../api.js";
import { Link, to } from "../router.js";
import { Json, Tree } from "../ui/json.js";
import { Empty, Loading } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Ago } from "../ui/time.js";
import { Forking } from "./forking.js";
import { Signal } from "./signal.js";

interface ThreadProps {
  readonly threadKey: string;
}

export function Thread({ threadKey }: ThreadProps): ReactNode {
  return (
    <DecidingProvider threadKey={threadKey}>
      <Conversation threadKey={threadKey} />
    </DecidingProvider>
  );
}

function Conversation({ threadKey }: ThreadProps): ReactNode {
  const chat = useAgentChat(api, { threadKey, run: api.agents.agentRun });
  const { thread, status, messages, live, error } = chat;
  const end = useFollowing(messages.length + live.length);

  if (status === "loading") return <Loading what="the conversation" />;
  if (thread === null || thread === undefined) {
    return (
      <Empty title="There is no such conversation">
        <Link href={to("threads")}>To all conversations</Link>
      </Empty>
    );
  }
  return (
    <div className="page thread">
      <header className="title">
        <div>
          <p className="crumb">
            <Link href={to("threads")}>Threads</Link>
          </p>
          <h1>{thread.title ?? threadKey}</h1>
        </div>
        <Status status={status} />
        {thread.runId !== null && (
          <Link href={to("runs", thread.runId)} data-testid="to-run">
            {isBusy(status) ? "The run" : "The last run"}
          </Link>
        )}
      </header>
      <div className="beside">
        <section aria-label="Conversation" className="talk">
          {chat.hasOlder && (
            <button
              type="button"
              className="more"
              disabled={chat.loadingOlder}
              onClick={() => void chat.loadOlder()}
            >
              {chat.loadingOlder ? "Loading…" : "Earlier messages"}
            </button>
          )}
          <div role="log" className="log" aria-busy={live.length > 0}>
            <Forking threadKey={thread.key}>
              <Entries entries={entriesOf({ messages, live })} />
            </Forking>
          </div>
          {error && (
            <div className="banner" role="alert" data-testid="error" data-code={error.code}>
              <p>{error.message}</p>
            </div>
          )}
          <BatchBar />
          <Signal thread={thread} busy={isBusy(status)} />
          <div ref={end} />
        </section>
        <aside aria-label="About the conversation">
          <dl className="facts-grid narrow">
            <div>
              <dt>Agent</dt>
              <dd>
                <Link href={to("agents", thread.agent)}>{thread.agent}</Link>
              </dd>
            </div>
            <div>
              <dt>Owner</dt>
              <dd>{thread.owner ?? "nobody"}</dd>
            </div>
            <div>
              <dt>Tokens</dt>
              <dd>
                {thread.usage.inputTokens.toLocaleString("en")} in,{" "}
                {thread.usage.outputTokens.toLocaleString("en")} out
              </dd>
            </div>
            <div>
              <dt>Begun</dt>
              <dd>
                <Ago at={thread.createdAt} />
              </dd>
            </div>
            <div>
              <dt>Key</dt>
              <dd>
                <code>{threadKey}</code>
              </dd>
            </div>
          </dl>
          <p>
            <Link href={`${to("runs")}?key=${encodeURIComponent(threadKey)}`}>
              All runs of this conversation
            </Link>
          </p>
          <StateViewer threadKey={thread.key} />
        </aside>
      </div>
    </div>
  );
}

function StateViewer({ threadKey }: { readonly threadKey: string }): ReactNode {
  const { state } = useAgentState({ api, threadKey });
  return (
    <section aria-labelledby="state-title" data-testid="state">
      <h2 id="state-title">State</h2>
      {state === undefined ? (
        <p className="soft">The agent keeps none.</p>
      ) : (
        <>
          <Tree value={state} />
          <details>
            <summary>JSON</summary>
            <Json value={state} />
          </details>
        </>
      )}
    </section>
  );
}

const NEAR_PX = 160;

/** Keep the end in sight for whoever is near it. */
function useFollowing(grown: number) {
  const end = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows what grows.
  useEffect(() => {
    const box = end.current?.closest("main");
    if (box == null || grown === 0) return;
    const below = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (first || below < NEAR_PX) end.current?.scrollIntoView({ block: "end" });
    setFirst(false);
  }, [grown]);
  return end;
}

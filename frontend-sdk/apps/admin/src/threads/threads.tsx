/** All conversations, by their newest activity. */

import type { ReactNode } from "react";
import type { ThreadStatus } from "ropewalk";
import { useQuery } from "ropewalk/react";
import { api } from "../api.js";
import { Link, to, useFilter } from "../router.js";
import { ChoiceFilter, TextFilter } from "../ui/filter.js";
import { counted } from "../ui/moments.js";
import { usePages } from "../ui/pages.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Ago } from "../ui/time.js";

const STATUSES: readonly ThreadStatus[] = [
  "queued",
  "running",
  "awaiting_input",
  "completed",
  "failed",
  "cancelled",
];

export function Threads(): ReactNode {
  const [filter, change] = useFilter();
  const agents = useQuery(api.agentList).value ?? [];
  const [agent, status, owner, search] = ["agent", "status", "owner", "search"].map(
    (name) => filter.get(name) ?? "",
  ) as [string, string, string, string];
  const { rows, error, more, busy } = usePages(
    api.threads,
    {
      ...(agent !== "" && { agent }),
      ...(status !== "" && { status: status as ThreadStatus }),
      ...(owner !== "" && { owner }),
      ...(search !== "" && { search }),
    },
    (page) => page.threads,
    (thread) => thread.key,
  );
  return (
    <div className="page">
      <header className="title">
        <h1>Threads</h1>
      </header>
      <div className="filters">
        <TextFilter name="search" label="Search" value={search} change={change} />
        <ChoiceFilter
          name="agent"
          label="Agent"
          value={agent}
          choices={agents.map(({ slug }) => slug)}
          change={change}
        />
        <ChoiceFilter
          name="status"
          label="Status"
          value={status}
          choices={STATUSES}
          change={change}
        />
        <TextFilter name="owner" label="Owner" value={owner} change={change} />
      </div>
      {error && <Trouble error={error} />}
      {rows === undefined ? (
        !error && <Loading what="conversations" />
      ) : rows.length === 0 ? (
        <Empty
          title={
            filter.size === 0 ? "Nobody has said anything yet" : "No conversation is like that"
          }
        >
          <Link href={to("agents")}>Talk to an agent</Link>
        </Empty>
      ) : (
        <ul className="rows" data-testid="threads">
          {rows.map((thread) => (
            <li key={thread.key} data-testid="thread-row" data-key={thread.key}>
              <Link href={to("threads", thread.key)} className="row">
                <Status status={thread.status} />
                <span className="main">
                  <strong>{thread.title ?? thread.key}</strong>
                  <span className="soft">
                    {thread.agent}
                    {thread.owner !== null && ` · ${thread.owner}`}
                    {thread.error && <span className="bad"> · {thread.error.message}</span>}
                  </span>
                </span>
                <span className="numbers soft">
                  <span>{counted(thread.messages, "message")}</span>
                  <span>
                    {counted(thread.usage.inputTokens + thread.usage.outputTokens, "token")}
                  </span>
                  <Ago at={thread.activeAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {more && (
        <button type="button" className="more" disabled={busy} onClick={more}>
          {busy ? "Loading…" : "Older conversations"}
        </button>
      )}
    </div>
  );
}

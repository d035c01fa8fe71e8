/** All conversations, by their newest activity. */

import type { ReactNode } from "react";
import type { ThreadStatus } from "ropewalk";
import type { ThreadRow } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, to } from "../router.js";
import { AgentFilter, ChoiceFilter, TextFilter } from "../ui/filter.js";
import { Listing } from "../ui/listing.js";
import { counted } from "../ui/moments.js";
import { usePages } from "../ui/pages.js";
import { Status } from "../ui/status.js";
import { Ago } from "../ui/time.js";
import { useFilters } from "../ui/use-filters.js";

const STATUSES: readonly ThreadStatus[] = [
  "queued",
  "running",
  "awaiting_input",
  "completed",
  "failed",
  "cancelled",
];

export function Threads(): ReactNode {
  const filters = useFilters(["search", "agent", "status", "owner"]);
  const { status, ...rest } = filters.said;
  const pages = usePages(
    api.threads,
    { ...rest, ...(status !== undefined && { status: status as ThreadStatus }) },
    (page) => page.threads,
    (thread) => thread.key,
  );
  const isFiltered = Object.keys(filters.said).length > 0;
  return (
    <div className="page">
      <header className="title">
        <h1>Threads</h1>
      </header>
      <div className="filters">
        <TextFilter name="search" label="Search" filters={filters} />
        <AgentFilter filters={filters} />
        <ChoiceFilter name="status" label="Status" filters={filters} choices={STATUSES} />
        <TextFilter name="owner" label="Owner" filters={filters} />
      </div>
      <Listing
        pages={pages}
        what="conversations"
        nothing={isFiltered ? "No conversation is like that" : "Nobody has said anything yet"}
      >
        {(rows) => <ThreadList threads={rows} />}
      </Listing>
    </div>
  );
}

function ThreadList({ threads }: { readonly threads: readonly ThreadRow[] }): ReactNode {
  return (
    <ul className="rows" data-testid="threads">
      {threads.map((thread) => (
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
              <span>{counted(thread.usage.inputTokens + thread.usage.outputTokens, "token")}</span>
              <Ago at={thread.activeAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

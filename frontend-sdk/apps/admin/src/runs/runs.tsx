/** All runs, the newest first, live. */

import type { ReactNode } from "react";
import type { RunStatus } from "ropewalk";
import type { RunRow } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, to } from "../router.js";
import { AgentFilter, ChoiceFilter, TextFilter } from "../ui/filter.js";
import { Listing } from "../ui/listing.js";
import { counted, duration } from "../ui/moments.js";
import { usePages } from "../ui/pages.js";
import { Status, wordsOf } from "../ui/status.js";
import { Ago } from "../ui/time.js";
import { type Filters, useFilters } from "../ui/use-filters.js";
import { askedOf, localOf, momentOf, TIME_WORDS, TIMES } from "./when.js";

const STATUSES: readonly RunStatus[] = [
  "queued",
  "running",
  "awaiting_input",
  "waiting",
  "completed",
  "failed",
  "cancelled",
];

const FILTERS = [
  ...["agent", "status", "owner", "key"],
  ...["time", "since", "until", "minTokens"],
] as readonly (keyof Said)[];

interface Said {
  readonly agent?: string;
  readonly status?: string;
  readonly owner?: string;
  readonly key?: string;
  readonly time?: string;
  readonly since?: string;
  readonly until?: string;
  readonly minTokens?: string;
}

export function Runs(): ReactNode {
  const filters = useFilters(FILTERS);
  const { status, time, since, until, minTokens, ...whose } = filters.said;
  const pages = usePages(
    api.runs,
    {
      ...whose,
      ...(status !== undefined && { status: status as RunStatus }),
      ...askedOf(filters.said),
    },
    (page) => page.runs,
    (run) => run.id,
  );
  const counts = pages.first?.counts ?? {};
  const all = Object.values(counts).reduce((total, one) => total + one, 0);
  const isFiltered = Object.keys(filters.said).some((name) => name !== "status");
  return (
    <div className="page">
      <header className="title">
        <h1>Runs</h1>
      </header>
      <div className="filters">
        <fieldset className="chips" aria-label="Status">
          {["", ...STATUSES].map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={(status ?? "") === one}
              data-testid={`status-${one || "all"}`}
              onClick={() => filters.change({ status: one })}
            >
              {one === "" ? "all" : wordsOf(one)} <b>{one === "" ? all : (counts[one] ?? 0)}</b>
            </button>
          ))}
        </fieldset>
        <AgentFilter filters={filters} />
        <TextFilter name="owner" label="Owner" filters={filters} />
        <TextFilter name="key" label="Thread key" filters={filters} />
        <ChoiceFilter
          name="time"
          label="Began"
          filters={filters}
          choices={TIMES}
          words={TIME_WORDS}
          none="at any time"
          clears={["since", "until"]}
        />
        {time === "between" && (
          <>
            <Moment name="since" label="From" filters={filters} />
            <Moment name="until" label="To" filters={filters} />
          </>
        )}
        <TextFilter name="minTokens" label="Tokens at least" filters={filters} type="number" />
      </div>
      <Listing
        pages={pages}
        what="runs"
        nothing={all === 0 && !isFiltered ? "Nothing has run yet" : "No run is like that"}
      >
        {(rows) => <RunList runs={rows} />}
      </Listing>
    </div>
  );
}

function Moment(props: {
  readonly name: "since" | "until";
  readonly label: string;
  readonly filters: Filters<keyof Said>;
}): ReactNode {
  return <TextFilter {...props} type="datetime-local" shown={localOf} meant={momentOf} />;
}

export function RunList({ runs }: { readonly runs: readonly RunRow[] }): ReactNode {
  return (
    <ul className="rows" data-testid="runs">
      {runs.map((run) => (
        <li key={run.id} data-testid="run-row" data-run-id={run.id} data-status={run.status}>
          <Link href={to("runs", run.id)} className="row">
            <Status status={run.status} />
            <span className="main">
              <strong>{run.title ?? run.key}</strong>
              <span className="soft">
                {run.agent}
                {run.owner !== null && ` · ${run.owner}`}
                {run.parentRunId !== null && " · asked by another run"}
              </span>
            </span>
            <span className="numbers soft">
              <span>{counted(run.usage.inputTokens + run.usage.outputTokens, "token")}</span>
              {run.crashes > 0 && (
                <span className="bad">{counted(run.crashes, "crash", "crashes")}</span>
              )}
              {run.attempts > 1 && <span>claimed {run.attempts}×</span>}
              <span>{duration(run.durationMs)}</span>
              <Ago at={run.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

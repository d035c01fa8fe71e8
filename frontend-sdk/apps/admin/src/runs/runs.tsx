/** All runs, the newest first, live. */

import type { ReactNode } from "react";
import type { RunStatus } from "ropewalk";
import { useQuery } from "ropewalk/react";
import type { RunRow } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, to, useFilter } from "../router.js";
import { ChoiceFilter, TextFilter } from "../ui/filter.js";
import { counted, duration } from "../ui/moments.js";
import { usePages } from "../ui/pages.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Status, wordsOf } from "../ui/status.js";
import { Ago } from "../ui/time.js";

const STATUSES: readonly RunStatus[] = [
  "queued",
  "running",
  "awaiting_input",
  "waiting",
  "completed",
  "failed",
  "cancelled",
];

export function Runs(): ReactNode {
  const [filter, change] = useFilter();
  const agents = useQuery(api.agentList).value ?? [];
  const [agent, status, owner, key] = ["agent", "status", "owner", "key"].map(
    (name) => filter.get(name) ?? "",
  ) as [string, string, string, string];
  const { rows, first, error, more, busy } = usePages(
    api.runs,
    {
      ...(agent !== "" && { agent }),
      ...(status !== "" && { status: status as RunStatus }),
      ...(owner !== "" && { owner }),
      ...(key !== "" && { key }),
    },
    (page) => page.runs,
    (run) => run.id,
  );
  const counts = first?.counts ?? {};
  const all = Object.values(counts).reduce((total, one) => total + one, 0);
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
              aria-pressed={status === one}
              data-testid={`status-${one || "all"}`}
              onClick={() => change("status", one)}
            >
              {one === "" ? "all" : wordsOf(one)} <b>{one === "" ? all : (counts[one] ?? 0)}</b>
            </button>
          ))}
        </fieldset>
        <ChoiceFilter
          name="agent"
          label="Agent"
          value={agent}
          choices={agents.map(({ slug }) => slug)}
          change={change}
        />
        <TextFilter name="owner" label="Owner" value={owner} change={change} />
        <TextFilter name="key" label="Thread key" value={key} change={change} />
      </div>
      {error && <Trouble error={error} />}
      {rows === undefined ? (
        !error && <Loading what="runs" />
      ) : rows.length === 0 ? (
        <Empty
          title={
            all === 0 && owner + agent + key === "" ? "Nothing has run yet" : "No run is like that"
          }
        >
          <Link href={to("agents")}>Talk to an agent</Link>
        </Empty>
      ) : (
        <RunList runs={rows} />
      )}
      {more && (
        <button type="button" className="more" disabled={busy} onClick={more}>
          {busy ? "Loading…" : "Older runs"}
        </button>
      )}
    </div>
  );
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

/** Who works, what waits, and how the last hour went. */

import type { ReactNode } from "react";
import type { SubscriptionView } from "ropewalk";
import type { SystemView } from "../admin.gen.js";
import { Link, to } from "../router.js";
import { barsOver, mostOf, totalOf } from "../ui/bar.js";
import { Bars } from "../ui/bars.js";
import { bytes, counted, duration } from "../ui/moments.js";
import { Loading, Trouble } from "../ui/states.js";
import { wordsOf } from "../ui/status.js";
import { Tile } from "../ui/tile.js";
import { Ago, useNow } from "../ui/time.js";
import { CheckUp } from "./check-up.js";
import { GatewayHealth } from "./health.js";

export function System({ system }: { readonly system: SubscriptionView<SystemView> }): ReactNode {
  const { value, error } = system;
  const now = useNow(true);
  if (value === undefined) return error ? <Trouble error={error} /> : <Loading what="the system" />;
  const unfinished = Object.entries(value.unfinished).filter(([, count]) => count > 0);
  return (
    <div className="page">
      <header className="title">
        <h1>System</h1>
      </header>
      {error && <Trouble error={error} />}
      {value.workers.length === 0 && (
        <div className="banner" role="alert" data-testid="no-workers">
          <p>No worker is registered: nothing runs. Start one with “ropewalk worker”.</p>
        </div>
      )}
      <dl className="tiles" data-testid="tiles">
        <Tile name="Workers" value={String(value.workers.length)} />
        <Tile
          name="Unfinished runs"
          value={String(unfinished.reduce((all, [, count]) => all + count, 0))}
        >
          {unfinished.map(([status, count]) => (
            <Link key={status} href={`${to("runs")}?status=${status}`}>
              {count} {wordsOf(status)}
            </Link>
          ))}
        </Tile>
        <Tile
          name="Oldest in the queue"
          value={
            value.oldestQueuedS === null ? "nothing waits" : duration(value.oldestQueuedS * 1000)
          }
        />
        <Tile name="Waiting approvals" value={String(value.pendingApprovals)}>
          {value.pendingApprovals > 0 && <Link href={to()}>To the inbox</Link>}
        </Tile>
        <Tile name="Threads, about" value={value.threads.toLocaleString("en")} />
        <Tile name="Database" value={bytes(value.databaseBytes)} />
        <GatewayHealth />
        {value.version && <Tile name="Version" value={value.version} />}
      </dl>
      <section aria-labelledby="hour-title">
        <h2 id="hour-title">The last hour</h2>
        <div className="charts" data-testid="charts">
          {(["started", "completed", "failed", "cancelled", "recovered"] as const).map((series) => (
            <Hour key={series} series={series} rows={value.minutes} now={now} />
          ))}
        </div>
      </section>
      <section aria-labelledby="workers-title">
        <h2 id="workers-title">Workers</h2>
        <ul className="rows" data-testid="workers">
          {value.workers.map((worker) => (
            <li key={worker.id} data-testid="worker">
              <div className="row">
                <span className={`mark ${worker.running > 0 ? "running" : ""}`}>
                  {worker.running > 0 ? counted(worker.running, "run") : "free"}
                </span>
                <span className="main">
                  <code>{worker.id}</code>
                  <span className="soft">{worker.agents.join(", ")}</span>
                </span>
                <span className="numbers soft">
                  <span>
                    since <Ago at={worker.startedAt} />
                  </span>
                </span>
              </div>
            </li>
          ))}
        </ul>
      </section>
      <CheckUp />
    </div>
  );
}

type Series = "started" | "completed" | "failed" | "cancelled" | "recovered";

const MINUTES = { ms: 60_000, count: 60 };

function Hour(props: {
  readonly series: Series;
  readonly rows: SystemView["minutes"];
  readonly now: number;
}): ReactNode {
  const { series, rows, now } = props;
  const values = rows.map((row) => ({ at: row.minute, value: row[series] }));
  const bars = barsOver(values, MINUTES, now);
  const [total, most] = [totalOf(bars), mostOf(bars)];
  return (
    <Bars
      bars={bars}
      caption={series}
      total={String(total)}
      words={`${counted(total, "run")} ${series} in the last hour, at most ${most} a minute`}
      wordsOf={({ at, value }) => `${new Date(at).toLocaleTimeString()}: ${value} ${series}`}
      axis={["an hour ago", most > 0 ? `at most ${most} a minute` : "", "now"]}
      testId={`chart-${series}`}
      colour={series}
    />
  );
}

/** Who works, what waits, and how the last hour went. */

import type { ReactNode } from "react";
import type { SubscriptionView } from "ropewalk";
import type { SystemView } from "../admin.gen.js";
import { Link, to } from "../router.js";
import { bytes, counted, duration } from "../ui/moments.js";
import { Loading, Trouble } from "../ui/states.js";
import { wordsOf } from "../ui/status.js";
import { Ago, useNow } from "../ui/time.js";
import { barsOf, type Series, totalOf } from "./chart.js";

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
        {value.version && <Tile name="Version" value={value.version} />}
      </dl>
      <section aria-labelledby="hour-title">
        <h2 id="hour-title">The last hour</h2>
        <div className="charts" data-testid="charts">
          {(["started", "completed", "failed", "cancelled"] as const).map((series) => (
            <Chart key={series} series={series} rows={value.minutes} now={now} />
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
    </div>
  );
}

function Tile(props: {
  readonly name: string;
  readonly value: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="tile">
      <dt>{props.name}</dt>
      <dd>
        <b>{props.value}</b>
        {props.children && <span className="soft links">{props.children}</span>}
      </dd>
    </div>
  );
}

const WIDTH = 240;
const HEIGHT = 56;
const STEP = WIDTH / 60;

function Chart(props: {
  readonly series: Series;
  readonly rows: SystemView["minutes"];
  readonly now: number;
}): ReactNode {
  const { series, rows, now } = props;
  const bars = barsOf(rows, series, now);
  const total = totalOf(bars);
  const most = Math.max(...bars.map(({ value }) => value));
  const words = `${counted(total, "run")} ${series} in the last hour, at most ${most} a minute`;
  return (
    <figure className="chart" data-testid={`chart-${series}`}>
      <figcaption>
        {series} <b>{total}</b>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words} className={series}>
        <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {bars.map(
          ({ minute, value, height }, index) =>
            value > 0 && (
              <rect
                key={minute}
                x={index * STEP + 0.5}
                width={STEP - 1}
                y={HEIGHT - 1 - Math.max(2, height * (HEIGHT - 4))}
                height={Math.max(2, height * (HEIGHT - 4))}
                rx="1"
              >
                <title>{`${new Date(minute).toLocaleTimeString()}: ${value} ${series}`}</title>
              </rect>
            ),
        )}
      </svg>
      <p className="axis soft">
        <span>an hour ago</span>
        <span>{most > 0 ? `at most ${most} a minute` : ""}</span>
        <span>now</span>
      </p>
    </figure>
  );
}

/** One run: what it did step by step, what it waits for, and what can be done about it. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useClient, useQuery } from "ropewalk/react";
import type { RunDetail, RunRow } from "../admin.gen.js";
import { api } from "../api.js";
import { ApprovalCard } from "../inbox/approval-card.js";
import { FIRST } from "../inbox/asked.js";
import { toolOf } from "../inbox/consequence.js";
import { Record } from "../inbox/decided.js";
import { Link, to } from "../router.js";
import { Tree } from "../ui/json.js";
import { dollars, duration } from "../ui/moments.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Ago, useNow } from "../ui/time.js";
import { useAct } from "../ui/use-act.js";
import { RunList } from "./runs.js";
import { Waterfall } from "./waterfall.js";

/** More are decided together, and that is what the inbox is for. */
const SHOWN = 20;
const ENDED = new Set(["completed", "failed", "cancelled"]);

export function Run({ id }: { readonly id: string }): ReactNode {
  const { value: detail, error } = useQuery(api.run, { runId: id });
  if (detail === undefined) return error ? <Trouble error={error} /> : <Loading what="the run" />;
  if (detail === null) {
    return (
      <Empty title="There is no such run">
        <Link href={to("runs")}>To all runs</Link>
      </Empty>
    );
  }
  const { run } = detail;
  const pending = detail.approvals.filter(({ status }) => status === "pending");
  const decided = detail.approvals.filter(({ status }) => status !== "pending");
  return (
    <div className="page">
      <header className="title">
        <div>
          <p className="crumb">
            <Link href={to("runs")}>Runs</Link>
          </p>
          <h1>{run.title ?? run.key}</h1>
        </div>
        <Status status={run.status} />
        <Doing run={run} />
      </header>
      {error && <Trouble error={error} />}
      {run.error && (
        <div className="banner" data-testid="run-error" data-code={run.error.code}>
          <p>
            <strong>{run.error.code}</strong> {run.error.message}
          </p>
        </div>
      )}
      {pending.length > 0 && <Waiting pending={pending} />}
      <Facts detail={detail} />
      <section aria-labelledby="timeline-title">
        <h2 id="timeline-title">Timeline</h2>
        <Waterfall detail={detail} />
      </section>
      {detail.children.length > 0 && (
        <section aria-labelledby="children-title">
          <h2 id="children-title">Runs that it asked for</h2>
          <RunList runs={detail.children} />
        </section>
      )}
      {decided.length > 0 && (
        <section aria-labelledby="decisions-title">
          <h2 id="decisions-title">Decisions</h2>
          <div className="asks">
            {decided.map((one) => (
              <Record key={one.id} approval={one} />
            ))}
          </div>
        </section>
      )}
      <details className="more-detail">
        <summary>Policy of this run</summary>
        <Tree value={detail.policy} />
      </details>
    </div>
  );
}

/** The calls that wait, to be decided here as in the inbox. */
function Waiting({ pending }: { readonly pending: readonly ApprovalRecord[] }): ReactNode {
  const { value: agents } = useQuery(api.agentList);
  return (
    <section aria-label="Waits for a person" data-testid="waits-for-person">
      <p className="callout">{waitingWords(pending)}</p>
      <div className="asks">
        {pending.slice(0, SHOWN).map((one, place) => (
          <ApprovalCard
            key={one.id}
            approval={one}
            tool={toolOf(agents ?? [], one)}
            others={pending.length - 1}
            isFirst={place < FIRST}
          />
        ))}
      </div>
      {pending.length > SHOWN && (
        <p className="soft">
          And {pending.length - SHOWN} more: <Link href={to()}>to the inbox</Link>
        </p>
      )}
    </section>
  );
}

function waitingWords(pending: readonly ApprovalRecord[]): string {
  const names = [...new Set(pending.map(({ name }) => name))].join(", ");
  return pending.length === 1
    ? `${names} waits for a person.`
    : `${pending.length} calls wait for a person: ${names}.`;
}

/** What can be done: stop what runs, let go on what failed. */
function Doing({ run }: { readonly run: RunRow }): ReactNode {
  const client = useClient();
  const { busy, trouble, act } = useAct();
  const which = { key: run.key, runId: run.id };
  return (
    <div className="choices">
      {!ENDED.has(run.status) && (
        <button
          type="button"
          className="grave"
          data-testid="cancel-run"
          disabled={busy}
          onClick={() => void act(() => client.call(api.agents.agentCancel, which))}
        >
          Cancel the run
        </button>
      )}
      {!ENDED.has(run.status) && (
        <Link href={to("system")} data-testid="to-repair">
          It does not move? Repair…
        </Link>
      )}
      {run.status === "failed" && (
        <button
          type="button"
          className="primary"
          data-testid="retry-run"
          title="It goes on after its last finished step"
          disabled={busy}
          onClick={() => void act(() => client.call(api.agents.agentRetry, which))}
        >
          Retry
        </button>
      )}
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </div>
  );
}

function Facts({ detail }: { readonly detail: RunDetail }): ReactNode {
  const { run, waits, deadlineAt } = detail;
  const live = run.finishedAt === null;
  const costs = Object.values(detail.costs);
  // What waits for a person stands over the facts.
  const others = (waits ?? []).filter((group) => !group.some((one) => one.startsWith("approval:")));
  const now = useNow(live);
  const took = live ? Math.max(0, now - Date.parse(run.createdAt)) : run.durationMs;
  return (
    <dl className="facts-grid" data-testid="run-facts">
      <Fact name="Agent">
        <Link href={to("agents", run.agent)}>{run.agent}</Link>
        {run.agentVersion !== null && ` ${run.agentVersion}`}
      </Fact>
      {run.override !== undefined && (
        <Fact name="Configuration">
          <Link href={to("agents", run.agent, "configuration")}>version {run.override}</Link> over
          the code
        </Fact>
      )}
      <Fact name="Conversation">
        <Link href={to("threads", run.key)}>{run.title ?? run.key}</Link>
      </Fact>
      <Fact name="Owner">{run.owner ?? "nobody"}</Fact>
      <Fact name="Started">
        <Ago at={run.createdAt} />
      </Fact>
      <Fact name={live ? "Lasts" : "Took"}>{duration(took)}</Fact>
      <Fact name="Turn">{run.turn + 1}</Fact>
      <Fact name="Tokens">
        {run.usage.inputTokens.toLocaleString("en")} in,{" "}
        {run.usage.outputTokens.toLocaleString("en")} out
      </Fact>
      <Fact name="Cost, estimated">
        {costs.length > 0 ? dollars(costs.reduce((all, one) => all + one)) : "not known"}
      </Fact>
      <Fact name="Model calls">{run.usage.requests}</Fact>
      {run.model !== null && <Fact name="Model">{run.model}</Fact>}
      <Fact name="Claimed">
        {run.attempts}×{run.crashes > 0 && <span className="bad">, {run.crashes} crashed</span>}
      </Fact>
      {run.worker !== null && <Fact name="Worker">{run.worker}</Fact>}
      {others.length > 0 && (
        <Fact name="Waits for">{others.map((group) => group.join(" or ")).join(", and ")}</Fact>
      )}
      {deadlineAt !== null && live && (
        <Fact name="Ends by itself">
          <Ago at={deadlineAt} />
        </Fact>
      )}
      {run.stopped !== null && run.stopped !== "final" && (
        <Fact name="Stopped by">{run.stopped}</Fact>
      )}
      {run.parentRunId !== null && (
        <Fact name="Asked by">
          <Link href={to("runs", run.parentRunId)} data-testid="parent">
            {run.parentKey ?? run.parentRunId}
          </Link>
        </Fact>
      )}
      <Fact name="Run">
        <code>{run.id}</code>
      </Fact>
    </dl>
  );
}

function Fact(props: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

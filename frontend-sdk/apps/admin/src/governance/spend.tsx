/** What agents used in the last thirty days, and the hours of people that they saved. */

import { type ReactNode, useEffect, useState } from "react";
import { useClient, useQuery } from "ropewalk/react";
import type { AgentSpend, May, SpendView } from "../admin.gen.js";
import { api } from "../api.js";
import { barsOver, mostOf } from "../ui/bar.js";
import { Bars } from "../ui/bars.js";
import { counted, dollars, hours } from "../ui/moments.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Tile } from "../ui/tile.js";
import { useNow } from "../ui/time.js";
import { Minutes } from "./minutes.js";

const DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;
const AGAIN_MS = 15_000;

export function Spend(): ReactNode {
  const { value: view, error } = useSpend();
  if (view === undefined) return error ? <Trouble error={error} /> : <Loading what="the spend" />;
  const { agents, may } = view;
  const sum = (of: (agent: AgentSpend) => number | null) =>
    agents.reduce((all, agent) => all + (of(agent) ?? 0), 0);
  const priced = agents.some(({ costUsd }) => costUsd !== null);
  const told = agents.some(({ hoursSaved }) => hoursSaved !== null);
  const unpriced = [...new Set(agents.flatMap((agent) => agent.unpriced))];
  if (agents.length === 0) return <Empty title="No agent is declared" />;
  return (
    <>
      <p className="soft">The last {DAYS} days, by days of UTC.</p>
      <dl className="tiles" data-testid="spend-tiles">
        <Tile name="Runs completed" value={sum(({ completed }) => completed).toLocaleString("en")}>
          of{" "}
          {counted(
            sum(({ runs }) => runs),
            "run",
          )}
        </Tile>
        <Tile name="Tokens" value={sum(tokensOf).toLocaleString("en")} />
        <Tile
          name="Cost, estimated"
          value={priced ? dollars(sum((it) => it.costUsd)) : "not known"}
        >
          {priced ? "by public price lists" : "no model here has a public price"}
        </Tile>
        <Tile name="Hours saved" value={told ? hours(sum((it) => it.hoursSaved)) : "not known"}>
          {!told && "say below how long a person takes"}
        </Tile>
      </dl>
      {unpriced.length > 0 && (
        <p className="soft" data-testid="unpriced">
          Without a public price, and so in tokens only: {unpriced.join(", ")}.
        </p>
      )}
      <ul className="tools spend">
        {agents.map((agent) => (
          <Agent key={agent.agent} agent={agent} may={may} />
        ))}
      </ul>
    </>
  );
}

/** Live for what is said about agents; a month of runs is summed up anew in a while only. */
function useSpend() {
  const client = useClient();
  const { value, error } = useQuery(api.spend, { days: DAYS });
  const [asked, setAsked] = useState<{ readonly over: SpendView | undefined; view: SpendView }>();
  useEffect(() => {
    let gone = false;
    const timer = setInterval(() => {
      client.query(api.spend, { days: DAYS }).then(
        (view) => !gone && setAsked({ over: value, view }),
        // What was there stays, and it is asked again.
        () => {},
      );
    }, AGAIN_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [client, value]);
  return { value: asked !== undefined && asked.over === value ? asked.view : value, error };
}

function tokensOf(one: { readonly inputTokens: number; readonly outputTokens: number }): number {
  return one.inputTokens + one.outputTokens;
}

function Agent(props: { readonly agent: AgentSpend; readonly may: May }): ReactNode {
  const { agent, may } = props;
  const now = useNow(false);
  const day = { ms: DAY_MS, count: DAYS };
  const tokens = barsOver(
    agent.days.map((one) => ({ at: `${one.day}T00:00:00Z`, value: tokensOf(one) })),
    day,
    now,
  );
  const cost = barsOver(
    agent.days.map((one) => ({ at: `${one.day}T00:00:00Z`, value: one.costUsd ?? 0 })),
    day,
    now,
  );
  const titleId = `spend-${agent.agent}`;
  return (
    <li className="tool" data-testid="agent-spend" data-agent={agent.agent}>
      <h2 id={titleId}>
        {agent.name} <code>{agent.agent}</code>
      </h2>
      <div className="charts">
        <Bars
          bars={tokens}
          caption="tokens"
          total={tokensOf(agent).toLocaleString("en")}
          words={`${tokensOf(agent).toLocaleString("en")} tokens in ${DAYS} days, at most ${mostOf(tokens).toLocaleString("en")} a day`}
          wordsOf={({ at, value }) => `${at.slice(0, 10)}: ${value.toLocaleString("en")} tokens`}
          axis={[`${DAYS} days ago`, "", "today"]}
          testId="chart-tokens"
          colour="started"
        />
        {agent.costUsd !== null && (
          <Bars
            bars={cost}
            caption="cost"
            total={dollars(agent.costUsd)}
            words={`${dollars(agent.costUsd)} in ${DAYS} days, at most ${dollars(mostOf(cost))} a day`}
            wordsOf={({ at, value }) => `${at.slice(0, 10)}: ${dollars(value)}`}
            axis={[`${DAYS} days ago`, "", "today"]}
            testId="chart-cost"
            colour="completed"
          />
        )}
      </div>
      <dl className="facts-grid" data-testid="spend-facts">
        <Fact name="Runs completed">
          {agent.completed.toLocaleString("en")} of {agent.runs.toLocaleString("en")}
        </Fact>
        <Fact name="Tokens in, out">
          {agent.inputTokens.toLocaleString("en")}, {agent.outputTokens.toLocaleString("en")}
        </Fact>
        <Fact name="Hours saved">
          {agent.hoursSaved === null ? "not known" : hours(agent.hoursSaved)}
        </Fact>
      </dl>
      <Minutes agent={agent.agent} minutes={agent.manualMinutes} may={may} />
    </li>
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

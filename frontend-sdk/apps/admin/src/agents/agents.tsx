/** The agents as they are declared, and a way to talk to each. */

import type { ReactNode } from "react";
import { useClient, useQuery } from "ropewalk/react";
import { Markdown } from "../../../chat/src/markdown.js";
import type { AgentDetail, ToolView } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, navigate, to } from "../router.js";
import { Tree } from "../ui/json.js";
import { counted } from "../ui/moments.js";
import { SayForm } from "../ui/say-form.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { wordsOf } from "../ui/status.js";
import { AgentTabs } from "./tabs.js";

export function Agents({ slug }: { readonly slug: string | undefined }): ReactNode {
  const { value: agents, error } = useQuery(api.agentList);
  if (agents === undefined) return error ? <Trouble error={error} /> : <Loading what="agents" />;
  if (slug !== undefined) {
    const agent = agents.find((one) => one.slug === slug);
    return agent === undefined ? (
      <Empty title={`There is no agent ${slug}`}>
        <Link href={to("agents")}>To all agents</Link>
      </Empty>
    ) : (
      <Agent key={slug} agent={agent} />
    );
  }
  return (
    <div className="page">
      <header className="title">
        <h1>Agents</h1>
      </header>
      {agents.length === 0 ? (
        <Empty title="No agent is declared">
          <p>
            Bind an <code>Agent</code> to a name in the folder <code>agents/</code>.
          </p>
        </Empty>
      ) : (
        <ul className="cards" data-testid="agents">
          {agents.map((agent) => (
            <li key={agent.slug} data-testid="agent-card" data-agent={agent.slug}>
              <Link href={to("agents", agent.slug)} className="agent">
                <strong>{agent.name}</strong>
                <code>{agent.slug}</code>
                <span>{agent.description}</span>
                <span className="soft">
                  {counted(agent.tools.length, "tool")} · {agent.model} · {unfinishedOf(agent)}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function unfinishedOf({ unfinished }: AgentDetail): string {
  const some = Object.entries(unfinished).filter(([, count]) => count > 0);
  return some.length === 0
    ? "nothing runs"
    : some.map(([status, count]) => `${count} ${wordsOf(status)}`).join(", ");
}

function Agent({ agent }: { readonly agent: AgentDetail }): ReactNode {
  return (
    <div className="page">
      <header className="title">
        <div>
          <p className="crumb">
            <Link href={to("agents")}>Agents</Link>
          </p>
          <h1>{agent.name}</h1>
        </div>
        <AgentTabs slug={agent.slug} here="declared" />
        <p className="places">
          <Link href={`${to("runs")}?agent=${encodeURIComponent(agent.slug)}`}>Runs</Link>
          <Link href={`${to("threads")}?agent=${encodeURIComponent(agent.slug)}`}>Threads</Link>
        </p>
      </header>
      <p>{agent.description}</p>
      <Talk slug={agent.slug} />
      <dl className="facts-grid" data-testid="agent-facts">
        {factsOf(agent).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <section aria-labelledby="instructions-title">
        <h2 id="instructions-title">Instructions</h2>
        {agent.instructions === null ? (
          <p className="soft">Computed anew for each run.</p>
        ) : agent.instructions === "" ? (
          <p className="soft">None.</p>
        ) : (
          <div className="panel">
            <Markdown text={agent.instructions} />
          </div>
        )}
      </section>
      <section aria-labelledby="tools-title">
        <h2 id="tools-title">Tools</h2>
        {agent.tools.length === 0 ? (
          <p className="soft">None: it only talks.</p>
        ) : (
          <ul className="tools">
            {agent.tools.map((tool) => (
              <Tool key={tool.name} tool={tool} />
            ))}
          </ul>
        )}
      </section>
    </div>
  );
}

function factsOf(agent: AgentDetail): readonly (readonly [string, string])[] {
  return [
    ["Slug", agent.slug],
    ["Model", agent.model],
    ["Who may start a run", agent.access],
    ["Autonomy", agent.autonomy === "always_ask" ? "always asks" : "acts on its own (as coded)"],
    ["Turns at most", String(agent.maxTurns)],
    ["On a busy thread", agent.onConcurrentRun],
    ["Responsible", agent.owner ?? "nobody in particular"],
    ["Version", agent.version ?? "–"],
    ["Now", unfinishedOf(agent)],
  ];
}

const ASKS: Readonly<Record<string, string>> = {
  never: "runs without asking",
  always: "always asks",
  sometimes: "asks where its rule says so",
};

function Tool({ tool }: { readonly tool: ToolView }): ReactNode {
  return (
    <li className="tool" data-testid="tool" data-tool={tool.name}>
      <h3>
        <code>{tool.name}</code>
        <span className={`mark asks-${tool.asks}`}>{ASKS[tool.asks] ?? tool.asks}</span>
      </h3>
      {tool.description && <p>{tool.description}</p>}
      <p className="soft">
        {tool.kind === "agent" ? "another agent" : tool.kind}
        {tool.asks !== "never" &&
          ` · approvers: ${tool.approvers.length > 0 ? tool.approvers.join(", ") : "the owner of the conversation, and admins"}`}
        {tool.asks !== "never" && ` · arguments ${tool.editable ? "may" : "may not"} be edited`}
      </p>
      <details>
        <summary>Arguments</summary>
        <Tree value={tool.parameters} />
      </details>
    </li>
  );
}

/** Start a conversation of one's own, and go there. */
function Talk({ slug }: { readonly slug: string }): ReactNode {
  const client = useClient();
  const start = async (text: string) => {
    const run = await client.mutate(api.agents.agentRun, { agent: slug, input: text });
    navigate(to("threads", run.key));
  };
  return (
    <SayForm
      name="prompt"
      label="Talk to it"
      placeholder="Starts a conversation that is yours"
      button="Start"
      whileBusy="Starting…"
      buttonTestId="start"
      send={start}
    />
  );
}

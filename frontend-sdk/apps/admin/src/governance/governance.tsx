/** Who uses which agent, who decides, which models; what it costs and saves; who changed what. */

import type { ReactNode } from "react";
import { useQuery } from "ropewalk/react";
import type { GovernanceView } from "../admin.gen.js";
import { api } from "../api.js";
import { NeedsManage } from "../config/may.js";
import { Link, type Place, to } from "../router.js";
import { Loading, Trouble } from "../ui/states.js";
import { AgentLists } from "./agent-lists.js";
import { Audit } from "./audit.js";
import { Models } from "./models.js";
import { Spend } from "./spend.js";

type Tab = Extract<Place, { readonly page: "governance" }>["tab"];

const TABS: readonly (readonly [Tab, string, string])[] = [
  ["lists", to("governance"), "Who and which"],
  ["spend", to("governance", "spend"), "Spend"],
  ["audit", to("governance", "audit"), "Audit"],
];

export function Governance({ tab }: { readonly tab: Tab }): ReactNode {
  const { value: view, error } = useQuery(api.governance);
  return (
    <div className="page">
      <header className="title">
        <h1>Governance</h1>
        <nav className="tabs" aria-label="Of governance">
          {TABS.map(([name, href, words]) => (
            <Link
              key={name}
              href={href}
              aria-current={name === tab ? "page" : undefined}
              data-testid={`tab-${name}`}
            >
              {words}
            </Link>
          ))}
        </nav>
      </header>
      {error && <Trouble error={error} />}
      {view === undefined ? (
        !error && <Loading what="governance" />
      ) : tab === "lists" ? (
        <Lists view={view} />
      ) : tab === "spend" ? (
        <Spend />
      ) : (
        <Audit agents={view.agents.map(({ agent }) => agent)} />
      )}
    </div>
  );
}

function Lists({ view }: { readonly view: GovernanceView }): ReactNode {
  return (
    <>
      <NeedsManage may={view.may} what="Changing any of this" />
      <Models view={view} />
      <section aria-labelledby="lists-title">
        <h2 id="lists-title">Who may use, who may decide</h2>
        <p className="soft">
          The lists hold for everybody, admins too, and at once. They only take away: an agent's own
          access is asked first.
        </p>
        <ul className="tools">
          {view.agents.map((agent) => (
            <AgentLists key={agent.agent} governed={agent} may={view.may} />
          ))}
        </ul>
      </section>
    </>
  );
}

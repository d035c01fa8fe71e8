/** What operators put in place of an agent's code: what counts, the draft, and all versions. */

import type { ReactNode } from "react";
import { useClient, useQuery } from "ropewalk/react";
import type { OverrideView } from "../admin.gen.js";
import { AgentTabs } from "../agents/tabs.js";
import { api } from "../api.js";
import { AuditList } from "../governance/audit.js";
import { Link, to } from "../router.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Sure } from "../ui/sure.js";
import { Ago } from "../ui/time.js";
import { Approvers } from "./approvers.js";
import { FIELDS, NAMES } from "./content.js";
import { DraftForm } from "./draft-form.js";
import { NeedsDeploy } from "./may.js";
import { Publish } from "./publish.js";
import { Versions } from "./versions.js";

interface ConfigurationProps {
  readonly slug: string;
  /** Whether the caller sees the other pages of agents, too. */
  readonly isAdmin: boolean;
}

export function Configuration({ slug, isAdmin }: ConfigurationProps): ReactNode {
  const { value: view, error } = useQuery(api.overrides, { agent: slug });
  if (view === undefined) {
    if (error?.code === "NOT_FOUND") return <Empty title={`There is no agent ${slug}`} />;
    return error ? <Trouble error={error} /> : <Loading what="the configuration" />;
  }
  return (
    <div className="page">
      <header className="title">
        <div>
          <p className="crumb">
            {isAdmin ? (
              <Link href={to("agents")}>Agents</Link>
            ) : (
              <Link href={to("governance")}>Governance</Link>
            )}
          </p>
          <h1>Configuration of {slug}</h1>
        </div>
        {isAdmin && <AgentTabs slug={slug} here="configuration" />}
      </header>
      {error && <Trouble error={error} />}
      <Standing view={view} />
      <section aria-labelledby="draft-title">
        <h2 id="draft-title">{view.draft === null ? "Write a draft" : "The draft"}</h2>
        <DraftForm view={view} />
      </section>
      <Publish view={view} />
      <Versions view={view} />
      <Approvers view={view} />
      <section aria-labelledby="audit-title">
        <h2 id="audit-title">Who did what</h2>
        <AuditList rows={view.audit} />
      </section>
    </div>
  );
}

/** What counts for the next prompt, and the way back to the code. */
function Standing({ view }: { readonly view: OverrideView }): ReactNode {
  const client = useClient();
  const { agent, inForce, version, versions, may } = view;
  const says = FIELDS.filter((field) => inForce[field] !== undefined);
  const newest = versions[0];
  return (
    <section className="panel stack" aria-label="In force" data-testid="in-force">
      <p role="status">
        <strong>
          {says.length === 0
            ? "The code counts"
            : `Version ${version} counts over the code: ${says.map((field) => NAMES[field].toLowerCase()).join(", ")}`}
        </strong>
      </p>
      {newest !== undefined && (
        <p className="soft">
          {says.length === 0 ? "Reset" : "Published"} by {newest.author ?? "somebody"},{" "}
          <Ago at={newest.at} />
          {newest.note !== null && <> · “{newest.note}”</>}
        </p>
      )}
      <p className="soft">
        A run keeps what counted when it was asked for; a change counts from the next prompt on, and
        outlasts deploys.
      </p>
      {says.length > 0 && <NeedsDeploy may={may} what="Resetting it to the code" />}
      {says.length > 0 && may.deploy && (
        <Sure
          name="Reset to code"
          then="Everything is as coded from the next prompt on. The versions stay in the list."
          testId="reset"
          act={(note) => client.call(api.reset, { agent, ...(note && { note }) })}
        />
      )}
    </section>
  );
}

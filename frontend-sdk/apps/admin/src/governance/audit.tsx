/** Who published, took back or governed what: nothing deletes it. */

import type { ReactNode } from "react";
import { useQuery } from "ropewalk/react";
import type { AuditRow } from "../admin.gen.js";
import { api } from "../api.js";
import { Link, to } from "../router.js";
import { ChoiceFilter } from "../ui/filter.js";
import { Loading, Trouble } from "../ui/states.js";
import { Ago } from "../ui/time.js";
import { useFilters } from "../ui/use-filters.js";
import { deedOf } from "./deeds.js";

export function Audit({ agents }: { readonly agents: readonly string[] }): ReactNode {
  const filters = useFilters(["agent"]);
  const { value, error } = useQuery(api.audit, filters.said);
  return (
    <>
      <div className="filters">
        <ChoiceFilter name="agent" label="Agent" filters={filters} choices={agents} />
      </div>
      {error && <Trouble error={error} />}
      {value === undefined ? (
        !error && <Loading what="the audit" />
      ) : (
        <AuditList rows={value} leads />
      )}
    </>
  );
}

interface ListProps {
  readonly rows: readonly AuditRow[];
  /** Whether each row leads to its agent. */
  readonly leads?: boolean;
}

export function AuditList({ rows, leads = false }: ListProps): ReactNode {
  if (rows.length === 0) return <p className="soft">Nobody has changed anything yet.</p>;
  return (
    <ul className="rows" data-testid="audit-list">
      {rows.map((row) => (
        <li key={row.id} data-testid="deed" data-action={row.action}>
          <div className="row deed">
            <span className="main">
              <span>
                <strong>{row.actor ?? "somebody"}</strong> {deedOf(row)}
              </span>
              {leads && row.agent !== null && (
                <span className="soft">
                  <Link href={to("agents", row.agent, "configuration")}>{row.agent}</Link>
                </span>
              )}
            </span>
            <span className="numbers soft">
              <Ago at={row.at} />
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}

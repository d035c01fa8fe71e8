/** What became of a call that waited: who decided it, where, when, why, and what he changed. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useDeciding } from "./deciding.js";
import { changesOf } from "./edited.js";
import { moment } from "./terms.js";

const PLACES: Readonly<Record<string, string>> = {
  api: "through the API",
  cli: "on the command line",
  dashboard: "in a browser",
  slack: "in Slack",
  teams: "in Teams",
};

const WORDS: Readonly<Record<ApprovalRecord["status"], string>> = {
  pending: "Waits",
  approved: "Approved",
  denied: "Rejected",
  cancelled: "Not decided",
};

export function Decided({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { status, reason, decidedAt, input, editedInput } = approval;
  const changes = editedInput === undefined ? [] : changesOf(input, editedInput);
  return (
    <div className={`decided ${status}`} data-testid="decided" data-decision={status}>
      <p>
        <strong>{WORDS[status]}</strong>
        <By approval={approval} />
        {decidedAt !== undefined && (
          <>
            {" · "}
            <time dateTime={decidedAt}>{moment(decidedAt)}</time>
          </>
        )}
      </p>
      {reason !== undefined && <p className="reason">“{reason}”</p>}
      {changes.length > 0 && (
        <ul aria-label="Changed" data-testid="changes">
          {changes.map(({ name, before, after }) => (
            <li key={name}>
              {name}: {before !== undefined && <del>{before}</del>}
              {before !== undefined && after !== undefined && " → "}
              {after !== undefined && <ins>{after}</ins>}
            </li>
          ))}
        </ul>
      )}
      {editedInput !== undefined && changes.length === 0 && <p>Nothing was changed.</p>}
    </div>
  );
}

function By({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { me } = useDeciding();
  const { status, place, decidedBy } = approval;
  if (status === "cancelled") return ": the run ended before";
  if (place === "system") return " by itself: nobody answered in time";
  if (place === undefined) return "…";
  const who = decidedBy === undefined ? "somebody" : decidedBy === me ? "you" : decidedBy;
  return ` by ${who} ${PLACES[place] ?? ""}`;
}

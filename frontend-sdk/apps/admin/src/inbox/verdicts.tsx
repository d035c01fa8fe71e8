/** Decisions as one line each. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";
import { Status, wordsOf } from "../ui/status.js";
import { Ago } from "../ui/time.js";

/** What was just decided, by whomever; read out as it comes. */
export function Verdicts({ decided }: { readonly decided: readonly ApprovalRecord[] }): ReactNode {
  return (
    <ul
      className="verdicts"
      aria-live="polite"
      aria-label="Just decided"
      data-testid="just-decided"
    >
      {decided.map((one) => (
        <li key={one.id}>
          <Status status={one.status} />
          <span>
            <code>{one.name}</code> was {wordsOf(one.status)} {byWhom(one)}
          </span>
          {one.decidedAt && <Ago at={one.decidedAt} />}
        </li>
      ))}
    </ul>
  );
}

const PLACES: Readonly<Record<string, string>> = {
  api: "through the API",
  cli: "on the command line",
  dashboard: "in a browser",
  slack: "in Slack",
  teams: "in Teams",
};

/** Return who decided and where, as "by ada, in Slack". */
export function byWhom({ status, decidedBy, place }: ApprovalRecord): string {
  if (status === "cancelled") return "with its run";
  if (place === "system") return "by itself";
  const where = place === undefined ? undefined : PLACES[place];
  return `by ${decidedBy ?? "somebody"}${where === undefined ? "" : `, ${where}`}`;
}

/** What was decided: what, by whom, from where, when, why, and what an edit changed. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useQuery } from "ropewalk/react";
import { api, INBOX_LIMIT } from "../api.js";
import { Link, to } from "../router.js";
import { Readable } from "../ui/json.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { Status } from "../ui/status.js";
import { Ago } from "../ui/time.js";
import { changesOf, words } from "../ui/values.js";
import { byWhom } from "./verdicts.js";

const ALL = { status: "all", limit: INBOX_LIMIT } as const;

export function Decided(): ReactNode {
  const { value, error } = useQuery(api.approvals, ALL);
  if (value === undefined) {
    return error ? <Trouble error={error} /> : <Loading what="decisions" />;
  }
  const decided = value.filter(({ status }) => status !== "pending");
  return decided.length === 0 ? (
    <Empty title="Nothing was decided yet" />
  ) : (
    <div className="asks" data-testid="decisions">
      {decided.map((one) => (
        <Record key={one.id} approval={one} />
      ))}
    </div>
  );
}

/** One decision with its audit. */
export function Record({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { editedInput, decidedAt, reason } = approval;
  return (
    <article className="ask record" data-testid="decision" data-status={approval.status}>
      <header>
        <h2>
          <code>{approval.name}</code>
        </h2>
        <Status status={approval.status} />
        <p className="since">{decidedAt && <Ago at={decidedAt} />}</p>
      </header>
      <p data-testid="audit">
        {approval.status === "cancelled" ? "Closed undecided," : "Decided"} {byWhom(approval)}
        {reason && <>: “{reason}”</>}
      </p>
      {editedInput ? (
        <table className="changes" data-testid="edit-diff">
          <caption>Changed before it was approved</caption>
          <thead>
            <tr>
              <th scope="col">Argument</th>
              <th scope="col">Asked</th>
              <th scope="col">Approved</th>
            </tr>
          </thead>
          <tbody>
            {changesOf(approval.input, editedInput).map(({ name, before, after }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <del>{words(before)}</del>
                </td>
                <td>
                  <ins>{words(after)}</ins>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <Readable value={approval.input} />
      )}
      <p className="places">
        <span className="soft">
          {approval.agent}
          {approval.owner !== null && ` for ${approval.owner}`}, asked{" "}
          <Ago at={approval.requestedAt} />
        </span>
        <Link href={to("runs", approval.runId)}>Run</Link>
        <Link href={to("threads", approval.key)}>Conversation</Link>
      </p>
    </article>
  );
}

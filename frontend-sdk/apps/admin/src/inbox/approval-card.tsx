/** One call that waits: what is asked, by whom, why, what comes of it; and the decision. */

import { memo, type ReactNode, useCallback, useRef, useState } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useClient } from "ropewalk/react";
import type { ToolView } from "../admin.gen.js";
import { Link, to } from "../router.js";
import { Json, Readable } from "../ui/json.js";
import { Ago } from "../ui/time.js";
import { type Asked, useAsked } from "./asked.js";
import { onwards, promiseOf } from "./consequence.js";
import { decideOne, sentenceOf, type Verdict } from "./deciding.js";
import { EditForm } from "./edit-form.js";

interface CardProps {
  readonly approval: ApprovalRecord;
  readonly tool: ToolView | undefined;
  /** How many calls of the run wait besides. */
  readonly others: number;
  /** Whether it is among the first, and so on the screen at once. */
  readonly isFirst: boolean;
  readonly selected?: boolean;
  /** Without it nothing can be selected, where a card stands alone. */
  readonly select?: (id: string, selected: boolean) => void;
}

type Mode = "deciding" | "rejecting" | "editing";

export const ApprovalCard = memo(function ApprovalCard(props: CardProps): ReactNode {
  const { approval, tool, others, isFirst, selected = false, select } = props;
  const client = useClient();
  const card = useRef<HTMLElement>(null);
  const asked = useAsked(approval, card, isFirst);
  const [mode, setMode] = useState<Mode>("deciding");
  const [asJson, setAsJson] = useState(false);
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();

  const decide = useCallback(
    async (verdict: Verdict) => {
      setBusy(true);
      setTrouble(undefined);
      try {
        await decideOne(client, approval, verdict);
      } catch (thrown) {
        setBusy(false);
        // An edit shows what is wrong with it at its fields.
        if (verdict.editedInput !== undefined) throw thrown;
        setTrouble(sentenceOf(thrown));
      }
    },
    [client, approval],
  );
  const back = () => setMode("deciding");
  const titleId = `title-${approval.id}`;

  return (
    <article
      ref={card}
      className={`ask${selected ? " selected" : ""}`}
      aria-labelledby={titleId}
      data-testid="approval"
      data-approval-id={approval.id}
      data-run-id={approval.runId}
      data-tool-call-id={approval.toolCallId}
    >
      <header>
        {select && (
          <label className="pick">
            <input
              type="checkbox"
              data-testid="select"
              checked={selected}
              disabled={!approval.mayDecide}
              onChange={(event) => select(approval.id, event.target.checked)}
            />
            <span className="hidden">Select {approval.name}</span>
          </label>
        )}
        <h2 id={titleId}>
          <code>{approval.name}</code>
        </h2>
        <p className="since">
          <span className="hidden">asked </span>
          <Ago at={approval.requestedAt} />
          {approval.expiresAt && (
            <span className="expiry" data-testid="expiry">
              {" "}
              · {approval.onExpiry === "approved" ? "approved" : "rejected"} by itself{" "}
              <Ago at={approval.expiresAt} />
            </span>
          )}
        </p>
      </header>
      <Why approval={approval} asked={asked} />
      {mode !== "editing" && (
        <div className="arguments">
          <div className="switch">
            <h3>With</h3>
            <button
              type="button"
              className="quiet small"
              aria-pressed={asJson}
              onClick={() => setAsJson(!asJson)}
            >
              {asJson ? "Readable" : "JSON"}
            </button>
          </div>
          {asJson ? <Json value={approval.input} /> : <Readable value={approval.input} />}
        </div>
      )}
      <p className="then" data-testid="consequence">
        <strong>On approve:</strong>{" "}
        {promiseOf(tool) ?? (
          <>
            <code>{approval.name}</code> runs with these arguments.
          </>
        )}{" "}
        {onwards(others)}
      </p>
      {!approval.mayDecide ? (
        <p className="soft" data-testid="not-yours">
          {approval.approvers.length > 0
            ? `Only ${approval.approvers.join(", ")} may decide this.`
            : "This is not yours to decide."}
        </p>
      ) : mode === "editing" ? (
        <EditForm approval={approval} tool={tool} decide={decide} cancel={back} />
      ) : mode === "rejecting" ? (
        <RejectForm busy={busy} decide={decide} cancel={back} />
      ) : (
        <div className="choices">
          <button
            type="button"
            className="primary"
            data-testid="approve"
            disabled={busy}
            onClick={() => void decide({ decision: "approved" })}
          >
            {busy ? "Deciding…" : "Approve"}
          </button>
          <button
            type="button"
            data-testid="reject"
            disabled={busy}
            onClick={() => setMode("rejecting")}
          >
            Reject…
          </button>
          {approval.editable && (
            <button
              type="button"
              data-testid="edit"
              disabled={busy}
              onClick={() => setMode("editing")}
            >
              Edit…
            </button>
          )}
          <Places approval={approval} />
        </div>
      )}
      {trouble !== undefined && (
        <p className="trouble" role="alert" data-testid="decision-trouble">
          {trouble}
        </p>
      )}
    </article>
  );
});

function Why(props: {
  readonly approval: ApprovalRecord;
  readonly asked: Asked | undefined;
}): ReactNode {
  const { approval, asked } = props;
  return (
    <div className="why">
      <p>
        <strong>{approval.agent}</strong> asks{" "}
        {approval.owner === null ? (
          "in a conversation without an owner"
        ) : (
          <>
            for <strong>{approval.owner}</strong>
          </>
        )}
        {approval.title && <> in “{approval.title}”</>}
        {approval.approvers.length > 0 && <> · approvers: {approval.approvers.join(", ")}</>}
      </p>
      {asked?.said && (
        <blockquote data-testid="said">
          <span className="hidden">The person said: </span>
          {asked.said}
        </blockquote>
      )}
      {asked?.answered && <p className="soft answered">{asked.answered}</p>}
    </div>
  );
}

/** Where the call comes from. */
function Places({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  return (
    <span className="places">
      <Link href={to("runs", approval.runId)} data-testid="to-run">
        Run
      </Link>
      <Link href={to("threads", approval.key)} data-testid="to-thread">
        Conversation
      </Link>
    </span>
  );
}

interface FormProps {
  readonly busy: boolean;
  readonly decide: (verdict: Verdict) => Promise<void>;
  readonly cancel: () => void;
}

function RejectForm({ busy, decide, cancel }: FormProps): ReactNode {
  const [reason, setReason] = useState("");
  return (
    <form
      className="decide"
      onSubmit={(event) => {
        event.preventDefault();
        const said = reason.trim();
        void decide({ decision: "denied", ...(said !== "" && { reason: said }) });
      }}
    >
      <label>
        Reason, for the agent and the record
        <textarea
          // biome-ignore lint/a11y/noAutofocus: it opens because a person asked for it.
          autoFocus
          rows={2}
          maxLength={2000}
          data-testid="reason"
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </label>
      <div className="choices">
        <button type="submit" className="grave" data-testid="confirm-reject" disabled={busy}>
          {busy ? "Rejecting…" : "Reject"}
        </button>
        <button type="button" onClick={cancel} disabled={busy}>
          Back
        </button>
      </div>
    </form>
  );
}

/** A tool call: what it was asked, where it stands, what came of it, and a person's decision. */

import { type ReactNode, useState } from "react";
import { type ChatMessage, type PendingApproval, RopewalkError } from "ropewalk";
import { Icon } from "./icons.js";

export interface Deciding {
  readonly approve: (toolCallId: string) => Promise<void>;
  readonly reject: (toolCallId: string) => Promise<void>;
}

interface ToolCardProps extends Deciding {
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
  /** The message with the result; open while the tool runs. */
  readonly result: ChatMessage | undefined;
  readonly approval: PendingApproval | undefined;
}

type Progress = "waiting" | "running" | "done" | "failed" | "interrupted";

const WORDS: Record<Progress, string> = {
  waiting: "Needs your approval",
  running: "Running",
  done: "Done",
  failed: "Failed",
  interrupted: "Interrupted",
};

export function ToolCard(props: ToolCardProps): ReactNode {
  const { toolCallId, name, input, result, approval } = props;
  const part = result?.parts.find(
    (one) => one.type === "tool_result" && one.toolCallId === toolCallId,
  );
  const answer = part?.type === "tool_result" ? part : undefined;
  const progress = progressOf(result, answer?.isError ?? false, approval);
  return (
    <section
      className={`card ${progress}`}
      data-testid="tool-card"
      data-tool-call-id={toolCallId}
      data-tool-name={name}
      data-state={progress}
      aria-label={`Tool ${name}: ${WORDS[progress]}`}
    >
      <header>
        <Icon name={progress === "waiting" ? "hand" : "tool"} />
        <code className="name">{name}</code>
        <span className="progress">
          <Mark progress={progress} />
          {WORDS[progress]}
        </span>
      </header>
      <Fields value={input} />
      {approval && <Decision {...props} approval={approval} />}
      {result && (
        <div
          className="result"
          data-testid="message"
          data-role="tool"
          data-message-id={result.id}
          data-status={result.status}
        >
          {result.status !== "open" && (
            <>
              <h3>{progress === "failed" ? "Error" : "Result"}</h3>
              <Output value={answer?.output ?? result.text} />
            </>
          )}
        </div>
      )}
    </section>
  );
}

function Decision({
  approval,
  approve,
  reject,
}: Deciding & { readonly approval: PendingApproval }): ReactNode {
  const [decided, setDecided] = useState<"approved" | "denied">();
  const [trouble, setTrouble] = useState<string>();
  const decide = async (decision: "approved" | "denied") => {
    setDecided(decision);
    setTrouble(undefined);
    try {
      await (decision === "approved" ? approve : reject)(approval.toolCallId);
    } catch (error) {
      // Somebody was quicker: the thread shows what they decided.
      if (error instanceof RopewalkError && error.code === "CONFLICT") return;
      setDecided(undefined);
      setTrouble(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div className="decision" data-testid="approval-card" data-approval-id={approval.id}>
      <p>
        Shall <code>{approval.name}</code> go ahead?
      </p>
      <div className="choices">
        <button
          type="button"
          className="primary"
          data-testid="approve"
          disabled={decided !== undefined}
          onClick={() => void decide("approved")}
        >
          {decided === "approved" ? "Approving…" : "Approve"}
        </button>
        <button
          type="button"
          data-testid="deny"
          disabled={decided !== undefined}
          onClick={() => void decide("denied")}
        >
          {decided === "denied" ? "Denying…" : "Deny"}
        </button>
      </div>
      {trouble !== undefined && <p className="trouble">{trouble}</p>}
    </div>
  );
}

function Mark({ progress }: { readonly progress: Progress }): ReactNode {
  if (progress === "running") return <span className="spinner" aria-hidden="true" />;
  if (progress === "waiting") return null;
  return <Icon name={progress === "done" ? "check" : "alert"} />;
}

/** The arguments, one a line where they are simple. */
function Fields({ value }: { readonly value: unknown }): ReactNode {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return null;
  return (
    <dl className="fields">
      {entries.map(([name, one]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{plain(one)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Output({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const simple = Object.values(value).every((one) => typeof one !== "object" || one === null);
    if (simple) return <Fields value={value} />;
  }
  return <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function progressOf(
  result: ChatMessage | undefined,
  isError: boolean,
  approval: PendingApproval | undefined,
): Progress {
  if (approval !== undefined) return "waiting";
  if (result === undefined || result.status === "open") return "running";
  if (result.status === "interrupted") return "interrupted";
  return isError || result.status === "failed" ? "failed" : "done";
}

/** A tool call: what it was asked, where it stands, what came of it, and a person's decision. */

import { type ReactNode, useRef } from "react";
import type { ApprovalRecord, EntryCall } from "ropewalk";
import { Approval } from "./approvals/approval.js";
import { useDeciding } from "./approvals/deciding.js";
import { Fields } from "./fields.js";
import { Icon } from "./icons.js";

interface ToolCardProps {
  readonly call: EntryCall;
}

type Progress = EntryCall["state"] | "rejected";

const WORDS: Record<Progress, string> = {
  waiting: "Needs approval",
  running: "Running",
  done: "Done",
  failed: "Failed",
  rejected: "Rejected",
  interrupted: "Interrupted",
};

export function ToolCard({ call }: ToolCardProps): ReactNode {
  const { toolCallId, name, input, result, answer } = call;
  const approval = useDeciding().own.get(toolCallId);
  const card = useRef<HTMLElement>(null);
  const progress = progressOf(call.state, approval?.status);
  const word = approval?.mayDecide ? "Needs your approval" : WORDS[progress];
  return (
    // biome-ignore lint/a11y/useSemanticElements: several calls of one name are no landmarks.
    <section
      ref={card}
      role="group"
      tabIndex={-1}
      className={`card ${progress}`}
      data-testid="tool-card"
      data-tool-call-id={toolCallId}
      data-tool-name={name}
      data-state={progress}
      aria-label={`Tool ${name}: ${word}`}
    >
      <header>
        <Icon name={progress === "waiting" ? "hand" : "tool"} />
        <code className="name">{name}</code>
        <span className="progress">
          <Mark progress={progress} />
          {word}
        </span>
      </header>
      <Fields value={input} />
      {approval && <Approval approval={approval} card={card} />}
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
              <h3>{answer?.isError ? "Error" : "Result"}</h3>
              <Output value={answer?.output ?? result.text} />
            </>
          )}
        </div>
      )}
    </section>
  );
}

function Mark({ progress }: { readonly progress: Progress }): ReactNode {
  if (progress === "running") return <span className="spinner" aria-hidden="true" />;
  if (progress === "waiting") return null;
  return <Icon name={progress === "done" ? "check" : "alert"} />;
}

function Output({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const simple = Object.values(value).every((one) => typeof one !== "object" || one === null);
    if (simple) return <Fields value={value} />;
  }
  return <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>;
}

function progressOf(
  state: EntryCall["state"],
  approval: ApprovalRecord["status"] | undefined,
): Progress {
  if (approval === "pending") return "waiting";
  return approval === "denied" ? "rejected" : state;
}

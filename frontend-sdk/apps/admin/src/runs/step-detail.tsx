/** What a step was asked, what came of it, and who did it when. */

import type { ReactNode } from "react";
import { Markdown } from "../../../chat/src/markdown.js";
import type { RunDetail, StepRow } from "../admin.gen.js";
import { useFork } from "../threads/use-fork.js";
import { Json, Readable, Tree } from "../ui/json.js";
import { dollars, exact } from "../ui/moments.js";
import { contentOf, turnOf } from "./content.js";

interface StepProps {
  readonly id: string;
  readonly step: StepRow;
  readonly failed: boolean;
  readonly detail: RunDetail;
}

export function StepDetail({ id, step, failed, detail }: StepProps): ReactNode {
  const content = contentOf(step, detail);
  const begin = turnOf(step, detail);
  return (
    <section id={id} className="step-detail" aria-label={step.name} data-testid="step-detail">
      <p className="soft facts">
        <code>{step.name}</code>
        <span>finished: {exact(step.finishedAt)}</span>
        {step.attempts !== null && <span>attempts: {step.attempts}</span>}
        {step.worker !== null && <span>worker: {step.worker}</span>}
        {step.epoch !== null && <span>epoch: {step.epoch}</span>}
        {content?.model && <span>model: {content.model}</span>}
        {content?.tokens && (
          <span>
            tokens: {content.tokens.input} in, {content.tokens.output} out
          </span>
        )}
        {content?.cost !== undefined && <span>cost: {dollars(content.cost)}</span>}
        {step.startedAt === null && <span>stored from outside of a worker</span>}
      </p>
      {content && (
        <>
          {content.thinking !== "" && (
            <Part name="Thought">
              <p className="text">{content.thinking}</p>
            </Part>
          )}
          {content.text !== "" && (
            <Part name="Said">
              <Markdown text={content.text} />
            </Part>
          )}
          {content.calls.map((call, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the calls of a stored message never move.
            <Part key={index} name={`Asked for ${call.name}`}>
              <Readable value={call.input} />
            </Part>
          ))}
          {content.asked !== undefined && (
            <Part name="Asked with">
              <Readable value={content.asked} />
            </Part>
          )}
          {content.answered !== undefined && (
            <Part name={failed ? "Failed with" : "Answered"}>
              <Readable value={content.answered} />
            </Part>
          )}
        </>
      )}
      {content === undefined ? (
        <Tree value={step.value} />
      ) : (
        <details>
          <summary>As it is stored</summary>
          <Json value={step.value} />
        </details>
      )}
      {begin !== undefined && <ForkBefore threadKey={detail.run.key} messageId={begin} />}
    </section>
  );
}

/** Go on from the moment before this step's turn, in a conversation of one's own. */
function ForkBefore(props: { readonly threadKey: string; readonly messageId: string }): ReactNode {
  const { busy, trouble, fork } = useFork();
  const { threadKey, messageId } = props;
  return (
    <div className="part">
      <button
        type="button"
        className="small"
        data-testid="fork-before"
        disabled={busy}
        onClick={() => fork({ key: threadKey, messageId, edge: "before" })}
      >
        Fork before this turn
      </button>
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </div>
  );
}

function Part(props: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="part">
      <h3 className="soft">{props.name}</h3>
      {props.children}
    </div>
  );
}

/** The timeline: a bar for each step, and what the step returned behind a click. */

import { type ReactNode, useState } from "react";
import type { RunDetail } from "../admin.gen.js";
import { duration } from "../ui/moments.js";
import { useNow } from "../ui/time.js";
import { StepDetail } from "./step-detail.js";
import { type Row, stepWords, type Timeline, timelineOf } from "./timeline.js";

export function Waterfall({ detail }: { readonly detail: RunDetail }): ReactNode {
  const now = useNow(detail.run.finishedAt === null);
  const timeline = timelineOf(detail, now);
  const [open, setOpen] = useState<string>();
  if (timeline.rows.length === 0) return <p className="soft">No step has finished yet.</p>;
  return (
    <div className="waterfall" data-testid="timeline">
      <ol>
        {timeline.rows.map((row) => (
          <Bar
            key={row.id}
            row={row}
            detail={detail}
            timeline={timeline}
            open={open === row.id}
            toggle={() => setOpen(open === row.id ? undefined : row.id)}
          />
        ))}
      </ol>
      <p className="axis soft">
        <span>0</span>
        <span>
          {timeline.gaps.length > 0 && "striped: waiting, drawn shorter · "}
          {duration(timeline.end - timeline.start)}
        </span>
      </p>
    </div>
  );
}

interface BarProps {
  readonly row: Row;
  readonly detail: RunDetail;
  readonly timeline: Timeline;
  readonly open: boolean;
  readonly toggle: () => void;
}

function Bar({ row, detail, timeline, open, toggle }: BarProps): ReactNode {
  const name = stepWords(row);
  const took = duration(row.step?.durationMs ?? row.end - row.start);
  const attempts = row.step?.attempts ?? 1;
  const left = timeline.at(row.start);
  const width = timeline.at(row.end) - left;
  const detailId = `step-${row.id}`;
  const line = (
    <>
      <span className="name">
        {name}
        {attempts > 1 && <b className="attempts"> ×{attempts}</b>}
        {row.failed && <b className="failed"> failed</b>}
      </span>
      <span className="track" aria-hidden="true">
        {timeline.gaps.map((gap) => (
          <i
            key={gap.start}
            className="gap"
            style={place(timeline.at(gap.start), timeline.at(gap.end) - timeline.at(gap.start))}
          />
        ))}
        <i
          className={`bar ${row.kind}${row.open ? " open" : ""}${row.failed ? " failed" : ""}`}
          style={place(left, width)}
        />
      </span>
      <span className="took">{took}</span>
    </>
  );
  if (row.step === undefined) {
    return (
      <li className={`step ${row.kind}`} data-testid="timeline-row" data-kind={row.kind}>
        <div className="line">{line}</div>
      </li>
    );
  }
  const { step } = row;
  return (
    <li
      className={`step ${row.kind}`}
      data-testid="timeline-row"
      data-kind={row.kind}
      data-step={step.name}
    >
      <button
        type="button"
        className="line"
        aria-expanded={open}
        aria-controls={detailId}
        onClick={toggle}
      >
        {line}
      </button>
      {open && <StepDetail id={detailId} step={step} failed={row.failed} detail={detail} />}
    </li>
  );
}

function place(left: number, width: number): { readonly left: string; readonly width: string } {
  return { left: `${left * 100}%`, width: `max(2px, ${width * 100}%)` };
}

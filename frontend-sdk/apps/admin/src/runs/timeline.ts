/**
 * A run as a waterfall: which bar stands where, and what is between the bars.
 *
 * Work takes milliseconds and waiting takes days, so the axis is not even: a stretch in which
 * nothing worked is drawn no longer than `IDLE_SHARE` of all work, and is marked as shortened.
 */

import type { RunDetail, StepRow } from "../admin.gen.js";
import { failedSteps } from "./content.js";

export type RowKind = "turn" | "llm" | "tool" | "wait" | "other" | "run";

export interface Row {
  readonly id: string;
  readonly kind: RowKind;
  readonly label: string;
  readonly turn: number | null;
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
  /** Still going on. */
  readonly open: boolean;
  readonly failed: boolean;
  readonly step: StepRow | undefined;
}

/** A stretch of the axis that is drawn shorter than it lasted. */
export interface Gap {
  readonly start: number;
  readonly end: number;
}

export interface Timeline {
  readonly rows: readonly Row[];
  readonly gaps: readonly Gap[];
  readonly start: number;
  readonly end: number;
  /** Where a moment stands, from 0 to 1. */
  readonly at: (moment: number) => number;
}

const IDLE_SHARE = 0.25;
const SHORTEST_GAP_MS = 20;

/** Facts that somebody else stored: what came before them was waiting. */
const WAITS = new Set(["approval", "child", "timer", "event", "sleep"]);

export function timelineOf(detail: RunDetail, now: number): Timeline {
  const { run, steps, approvals } = detail;
  const start = Date.parse(run.createdAt);
  const finished = run.finishedAt === null ? undefined : Date.parse(run.finishedAt);
  const failed = failedSteps(detail);
  const bars = steps.map((step, index) => ({
    ...barOf(step, start, steps.slice(0, index)),
    failed: step.isError || failed.has(step.name),
  }));
  const asked = new Map(approvals.map((one) => [one.toolCallId, Date.parse(one.requestedAt)]));
  const rows = bars.map((bar) => {
    const since = asked.get(bar.label.slice(bar.label.indexOf(":") + 1));
    return bar.kind === "wait" && since !== undefined
      ? { ...bar, start: Math.min(since, bar.end) }
      : bar;
  });
  const end = Math.max(start + 1, ...rows.map((row) => row.end), finished ?? now);
  rows.push(...openRows(detail, rows, end, finished === undefined));
  const all = withTurns(rows);
  const { gaps, at } = axis(rows, start, end);
  return { rows: all, gaps, start, end, at };
}

function barOf(step: StepRow, runStart: number, earlier: readonly StepRow[]): Row {
  const end = Date.parse(step.finishedAt);
  const kind = kindOf(step);
  const last =
    earlier.length === 0 ? runStart : Date.parse(earlier[earlier.length - 1]?.finishedAt ?? "");
  const start = step.startedAt === null ? Math.min(last, end) : Date.parse(step.startedAt);
  return {
    id: step.name,
    kind,
    label: step.name,
    turn: step.turn,
    start,
    end,
    open: false,
    failed: false,
    step,
  };
}

function kindOf({ name, kind, startedAt }: StepRow): RowKind {
  // What a tool did on its way is a step of its own.
  if (name.includes("/")) return "other";
  if (kind === "llm" || kind === "tool") return kind;
  return WAITS.has(kind) || startedAt === null ? "wait" : "other";
}

/** What is not finished: calls that wait for a person, or a worker that is at it. */
function openRows(
  detail: RunDetail,
  rows: readonly Row[],
  end: number,
  live: boolean,
): readonly Row[] {
  if (!live) return [];
  const common = { turn: null, end, open: true, failed: false, step: undefined } as const;
  const pending = detail.approvals.filter(({ status }) => status === "pending");
  if (pending.length > 0) {
    return pending.map((one) => ({
      ...common,
      id: `pending:${one.id}`,
      kind: "wait",
      label: `approval:${one.toolCallId}`,
      start: Math.min(Date.parse(one.requestedAt), end),
    }));
  }
  const { status } = detail.run;
  const last = Math.max(Date.parse(detail.run.createdAt), ...rows.map((row) => row.end));
  const kind = status === "running" ? "run" : "wait";
  return [{ ...common, id: "open", kind, label: status, start: Math.min(last, end) }];
}

/** Put a row over the first step of each turn, as long as the turn took. */
function withTurns(rows: readonly Row[]): readonly Row[] {
  const seen = new Set<number>();
  return rows.flatMap((row) => {
    const { turn } = row;
    if (turn === null || seen.has(turn)) return [row];
    seen.add(turn);
    const own = rows.filter((one) => one.turn === turn);
    return [
      {
        id: `turn:${turn}`,
        kind: "turn" as const,
        label: `Turn ${turn + 1}`,
        turn,
        start: Math.min(...own.map((one) => one.start)),
        end: Math.max(...own.map((one) => one.end)),
        open: false,
        failed: own.some((one) => one.failed),
        step: undefined,
      },
      row,
    ];
  });
}

/** The stretches in which nothing worked, and the scale that shortens the long ones. */
function axis(rows: readonly Row[], start: number, end: number): Pick<Timeline, "gaps" | "at"> {
  const busy = merged(
    rows.filter(({ kind }) => kind !== "wait").map((row) => [row.start, row.end]),
  );
  const idle = between(busy, start, end);
  const worked = end - start - sum(idle);
  const longest = Math.max(SHORTEST_GAP_MS, worked * IDLE_SHARE);
  const gaps = idle.filter((gap) => gap.end - gap.start > longest);
  const drawn = end - start - sum(gaps) + gaps.length * longest;
  const at = (moment: number): number => {
    const inside = Math.min(Math.max(moment, start), end);
    let place = inside - start;
    for (const gap of gaps) {
      if (inside <= gap.start) break;
      const passed = Math.min(inside, gap.end) - gap.start;
      place -= passed - longest * (passed / (gap.end - gap.start));
    }
    return drawn > 0 ? place / drawn : 0;
  };
  return { gaps, at };
}

type Stretch = readonly [number, number];

function merged(stretches: readonly Stretch[]): readonly Stretch[] {
  const found: [number, number][] = [];
  for (const [from, to] of [...stretches].sort((a, b) => a[0] - b[0])) {
    const last = found[found.length - 1];
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

function between(busy: readonly Stretch[], start: number, end: number): readonly Gap[] {
  const gaps: Gap[] = [];
  let at = start;
  for (const [from, to] of busy) {
    if (from > at) gaps.push({ start: at, end: from });
    at = Math.max(at, to);
  }
  if (end > at) gaps.push({ start: at, end });
  return gaps;
}

function sum(gaps: readonly Gap[]): number {
  return gaps.reduce((total, gap) => total + gap.end - gap.start, 0);
}

/** Return a step's name as people read it. */
export function stepWords(row: Row): string {
  if (row.kind === "turn") return row.label;
  if (row.id === "open") return row.kind === "run" ? "at work" : row.label.replace("_", " ");
  const [kind = "", ...rest] = row.label.split("/")[0]?.split(":") ?? [];
  if (kind === "llm") return "Model call";
  if (kind === "tool") {
    const name = rest.slice(0, -1).join(":") || rest.join(":");
    const inner = row.label.split("/")[1]?.split(":")[0];
    return inner === undefined ? name : `${inner} of ${name}`;
  }
  if (kind === "approval") return row.open ? "Waits for a person" : "Decision";
  return row.label;
}

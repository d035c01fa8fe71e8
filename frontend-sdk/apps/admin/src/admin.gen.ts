// Generated from app/protocol by `python -m app.protocol.export`. Do not edit.

import type { ApprovalRecord, RunError, RunStatus, ThreadStatus, UsageView } from "ropewalk";

/** One of `agents:adminAgents`. */
export interface AgentDetail {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly model: string;
  /** null: computed for each run */
  readonly instructions: string | null;
  readonly access: string;
  readonly owner: string | null;
  readonly autonomy: string;
  readonly maxTurns: number;
  readonly version: string | null;
  readonly onConcurrentRun: string;
  readonly tools: readonly ToolView[];
  /** runs by status */
  readonly unfinished: Readonly<Record<string, number>>;
}

/** What happened in one minute. */
export interface MinuteRow {
  readonly minute: string;
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** `agents:adminRun {runId}`; null: there is no such run. */
export interface RunDetail {
  readonly run: RunRow;
  readonly policy: Readonly<Record<string, unknown>>;
  /** facts, one of each group */
  readonly waits: readonly (readonly string[])[] | null;
  readonly deadlineAt: string | null;
  /** in the order in which they finished */
  readonly steps: readonly StepRow[];
  readonly children: readonly RunRow[];
  readonly approvals: readonly ApprovalRecord[];
  /** of this run, as agents:agentMessages shows them */
  readonly messages: readonly unknown[];
}

/** `agents:adminRuns {agent?, status?, owner?, key?, before?, limit?}`, newest first. */
export interface RunPage {
  readonly runs: readonly RunRow[];
  /** the `before` of the next page */
  readonly next: string | null;
  /** runs by status, within the filter but status */
  readonly counts: Readonly<Record<string, number>>;
}

/** A run in a list. */
export interface RunRow {
  readonly id: string;
  /** of its thread */
  readonly key: string;
  readonly agent: string;
  readonly agentVersion: string | null;
  readonly owner: string | null;
  readonly title: string | null;
  readonly status: RunStatus;
  readonly turn: number;
  readonly usage: UsageView;
  /** that the start asked for, if any */
  readonly model: string | null;
  readonly error: RunError | null;
  readonly stopped: string | null;
  readonly worker: string | null;
  /** how often it was claimed */
  readonly attempts: number;
  /** workers in a row that died while they drove it */
  readonly crashes: number;
  readonly parentRunId: string | null;
  readonly parentKey: string | null;
  readonly pendingApprovals: number;
  readonly createdAt: string;
  readonly queuedAt: string | null;
  readonly finishedAt: string | null;
  /** from its start to its end, or to now */
  readonly durationMs: number | null;
}

/** One finished step of a run. */
export interface StepRow {
  readonly name: string;
  /** llm, tool, approval, child, timer, event, inject, ... */
  readonly kind: string;
  readonly turn: number | null;
  /** null for a fact that somebody else stored */
  readonly startedAt: string | null;
  readonly finishedAt: string;
  readonly durationMs: number | null;
  /** of its body, in the drive that finished it */
  readonly attempts: number | null;
  readonly worker: string | null;
  readonly epoch: number | null;
  /** what it returned, shortened above 64 KiB */
  readonly value: unknown;
  readonly isError: boolean;
}

/** `agents:adminSystem`. */
export interface SystemView {
  readonly workers: readonly WorkerRow[];
  readonly unfinished: Readonly<Record<string, number>>;
  readonly oldestQueuedS: number | null;
  readonly pendingApprovals: number;
  readonly threads: number;
  /** the last hour, oldest first */
  readonly minutes: readonly MinuteRow[];
  readonly databaseBytes: number;
  /** of the server */
  readonly version?: string;
}

/** `agents:adminThreads {agent?, owner?, status?, search?, before?, limit?}`, newest first. */
export interface ThreadPage {
  readonly threads: readonly ThreadRow[];
  readonly next: string | null;
}

/** A thread in a list. */
export interface ThreadRow {
  readonly key: string;
  readonly agent: string;
  readonly owner: string | null;
  readonly title: string | null;
  readonly status: ThreadStatus;
  readonly usage: UsageView;
  readonly error: RunError | null;
  readonly messages: number;
  readonly createdAt: string;
  readonly activeAt: string;
}

/** A tool as the model is offered it. */
export interface ToolView {
  readonly name: string;
  readonly description: string | null;
  /** inline, function or agent */
  readonly kind: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** never, always, sometimes (a predicate) */
  readonly asks: string;
  readonly approvers: readonly string[];
  readonly editable: boolean;
}

/** A worker that is registered. */
export interface WorkerRow {
  readonly id: string;
  readonly agents: readonly string[];
  readonly running: number;
  readonly startedAt: string;
}

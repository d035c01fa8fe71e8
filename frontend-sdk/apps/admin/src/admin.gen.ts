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

/** Who may use an agent, and decide what it asks. */
export interface AgentGovernance {
  readonly agent: string;
  readonly name: string;
  /** null: whomever its access lets in */
  readonly use: readonly string[] | null;
  /** null: the same as use */
  readonly approve: readonly string[] | null;
  /** picked, by tool */
  readonly approvers: Readonly<Record<string, readonly string[]>>;
  /** that a person takes for what a completed run does; null: nobody said */
  readonly manualMinutes: number | null;
}

/** What an agent used, and what it saved. */
export interface AgentSpend {
  readonly agent: string;
  readonly name: string;
  /** those on which it ran, the oldest first */
  readonly days: readonly SpentDay[];
  readonly runs: number;
  readonly completed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** null: the price of no model is known */
  readonly costUsd: number | null;
  /** models whose price is not known */
  readonly unpriced: readonly string[];
  readonly manualMinutes: number | null;
  /** completed runs times minutes by hand */
  readonly hoursSaved: number | null;
}

/** One of `agents:adminAudit {agent?, limit?}`, newest first: who did what. */
export interface AuditRow {
  readonly id: number;
  readonly at: string;
  readonly actor: string | null;
  /** null: the deployment */
  readonly agent: string | null;
  /** published, reset, restored, approvers, lists, minutes or models */
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What an override stands over. */
export interface CodedAgent {
  /** null: computed for each run */
  readonly instructions: string | null;
  readonly model: string;
  readonly autonomy: "as_coded" | "always_ask";
  readonly maxTurns: number;
  readonly tools: readonly CodedTool[];
}

/** A tool as the code declares it. */
export interface CodedTool {
  readonly name: string;
  readonly description: string | null;
  readonly approvers: readonly string[];
}

/** `agents:adminGovernance`. */
export interface GovernanceView {
  readonly agents: readonly AgentGovernance[];
  /** that may be chosen; null: any */
  readonly models: readonly string[] | null;
  readonly may: May;
}

/** What the caller's roles allow. */
export interface May {
  /** lists, approvers, models */
  readonly manage: boolean;
  /** publish, reset, restore */
  readonly deploy: boolean;
}

/** What happened in one minute. */
export interface MinuteRow {
  readonly minute: string;
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** taken over from a worker that died; its last time counts */
  readonly recovered: number;
}

/** What stands in place of the code's own word; what is left out is as coded. */
export interface OverrideContent {
  readonly instructions?: string;
  readonly model?: string;
  readonly autonomy?: "as_coded" | "always_ask";
  readonly maxTurns?: number;
  readonly toolsOff?: readonly string[];
}

/** Something that was published, or the draft. */
export interface OverrideVersion {
  /** from 1; null: the draft */
  readonly version: number | null;
  /** empty: everything is as coded */
  readonly content: OverrideContent;
  readonly author: string | null;
  /** when it was published, or last saved */
  readonly at: string;
  readonly note: string | null;
}

/** `agents:adminOverrides {agent}`. */
export interface OverrideView {
  readonly agent: string;
  readonly code: CodedAgent;
  /** in force; null: nothing was ever published */
  readonly version: number | null;
  readonly inForce: OverrideContent;
  readonly draft: OverrideVersion | null;
  /** newest first */
  readonly versions: readonly OverrideVersion[];
  /** picked, by tool */
  readonly approvers: Readonly<Record<string, readonly string[]>>;
  /** that may be chosen; null: any */
  readonly models: readonly string[] | null;
  readonly audit: readonly AuditRow[];
  readonly may: May;
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
  /** of this run, as agents:agentMessages shows them, the newest 500 */
  readonly messages: readonly unknown[];
  /** estimated dollars by the id of an answer; none where no public price is known */
  readonly costs: Readonly<Record<string, number>>;
}

/**
 * `agents:adminRuns {agent?, status?, owner?, key?, before?, limit?, ...}`, newest first.
 *
 * And `since?`, `until?`, `withinS?`, `minTokens?`.
 */
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
  /** the version over the code that it goes by */
  readonly override?: number;
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

/** `agents:adminSpend {days?}`: of today and the days before, 30 unless told. */
export interface SpendView {
  readonly days: number;
  readonly agents: readonly AgentSpend[];
  readonly may: May;
}

/** What an agent's runs of one day used.  Days are UTC's. */
export interface SpentDay {
  readonly day: string;
  readonly runs: number;
  readonly completed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** of the models whose price is known */
  readonly costUsd: number | null;
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

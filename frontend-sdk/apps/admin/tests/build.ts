/** Rows for tests, whole, with what matters given. */

import type { ApprovalRecord } from "ropewalk";
import type { RunDetail, RunRow, StepRow } from "../src/admin.gen.js";

const START = Date.parse("2026-11-30T10:00:00.000Z");

/** A moment, in milliseconds after the run's start. */
export const at = (ms: number): string => new Date(START + ms).toISOString();
export const ms = (after: number): number => START + after;

const USAGE = {
  requests: 1,
  inputTokens: 10,
  outputTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

export function anApproval(given: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    id: "a1",
    key: "thread-1",
    agent: "desk",
    runId: "run-1",
    toolCallId: "c1",
    name: "pay",
    input: { to: "Ada", cents: 1250 },
    inputHash: "hash-1",
    editable: true,
    approvers: [],
    requestedAt: at(100),
    owner: "dev-user",
    title: "Month's end",
    status: "pending",
    mayDecide: true,
    ...given,
  };
}

export function aStep(
  name: string,
  from: number | null,
  to: number,
  given: Partial<StepRow> = {},
): StepRow {
  return {
    name,
    kind: name.split(":")[0] ?? "",
    turn: null,
    startedAt: from === null ? null : at(from),
    finishedAt: at(to),
    durationMs: from === null ? null : to - from,
    attempts: from === null ? null : 1,
    worker: "worker-1",
    epoch: 1,
    value: null,
    isError: false,
    ...given,
  };
}

export function aRun(given: Partial<RunRow> = {}): RunRow {
  return {
    id: "run-1",
    key: "thread-1",
    agent: "desk",
    agentVersion: null,
    owner: "dev-user",
    title: null,
    status: "completed",
    turn: 0,
    usage: USAGE,
    model: null,
    error: null,
    stopped: null,
    worker: null,
    attempts: 1,
    crashes: 0,
    parentRunId: null,
    parentKey: null,
    pendingApprovals: 0,
    createdAt: at(0),
    queuedAt: at(0),
    finishedAt: null,
    durationMs: null,
    ...given,
  };
}

export function aDetail(
  run: Partial<RunRow>,
  steps: readonly StepRow[],
  given: Partial<RunDetail> = {},
): RunDetail {
  return {
    run: aRun(run),
    policy: {},
    waits: null,
    deadlineAt: null,
    steps,
    children: [],
    approvals: [],
    messages: [],
    costs: {},
    ...given,
  };
}

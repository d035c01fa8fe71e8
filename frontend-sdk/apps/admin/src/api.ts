/** The server's functions as this page knows them. */

import {
  type AgentApprovalsArgs,
  type AgentResolveApprovalArgs,
  type AgentResolveApprovalResult,
  type AgentResolveApprovalsArgs,
  type ApprovalRecord,
  action,
  defineApi,
  query,
  type ResolvedApproval,
  type RunStatus,
  type ThreadStatus,
} from "ropewalk";
import type { AgentDetail, RunDetail, RunPage, SystemView, ThreadPage } from "./admin.gen.js";

export interface RunFilter {
  readonly agent?: string;
  readonly status?: RunStatus;
  readonly owner?: string;
  readonly key?: string;
  readonly before?: string;
  readonly limit?: number;
}

export interface ThreadFilter {
  readonly agent?: string;
  readonly status?: ThreadStatus;
  readonly owner?: string;
  readonly search?: string;
  readonly before?: string;
  readonly limit?: number;
}

export const api = defineApi({
  approvals: query<AgentApprovalsArgs, readonly ApprovalRecord[]>("agents:agentApprovals"),
  decide: action<AgentResolveApprovalArgs, AgentResolveApprovalResult>(
    "agents:agentResolveApproval",
  ),
  decideAll: action<AgentResolveApprovalsArgs, readonly ResolvedApproval[]>(
    "agents:agentResolveApprovals",
  ),
  runs: query<RunFilter, RunPage>("agents:adminRuns"),
  run: query<{ readonly runId: string }, RunDetail | null>("agents:adminRun"),
  threads: query<ThreadFilter, ThreadPage>("agents:adminThreads"),
  agentList: query<Record<never, never>, readonly AgentDetail[]>("agents:adminAgents"),
  system: query<Record<never, never>, SystemView>("agents:adminSystem"),
});

/** As many as the server gives at once. */
export const INBOX_LIMIT = 1000;

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
import type {
  AgentDetail,
  AuditRow,
  GovernanceView,
  OverrideContent,
  OverrideView,
  RunDetail,
  RunPage,
  SpendView,
  SystemView,
  ThreadPage,
} from "./admin.gen.js";

export interface RunFilter {
  readonly agent?: string;
  readonly status?: RunStatus;
  readonly owner?: string;
  readonly key?: string;
  readonly since?: string;
  readonly until?: string;
  readonly withinS?: number;
  readonly minTokens?: number;
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

interface Agent {
  readonly agent: string;
}

type Noted = Agent & { readonly note?: string };
type Published = { readonly version: number };
type Listed = readonly string[] | null;

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
  overrides: query<Agent, OverrideView>("agents:adminOverrides"),
  saveDraft: action<
    Agent & { readonly content: OverrideContent; readonly over?: OverrideContent | "nothing" },
    { readonly content: OverrideContent }
  >("agents:adminSaveDraft"),
  discardDraft: action<Agent & { readonly content: OverrideContent }, null>(
    "agents:adminDiscardDraft",
  ),
  publish: action<Noted & { readonly content: OverrideContent }, Published>("agents:adminPublish"),
  reset: action<Noted, Published>("agents:adminReset"),
  restore: action<Noted & { readonly version: number }, Published>("agents:adminRestore"),
  governance: query<Record<never, never>, GovernanceView>("agents:adminGovernance"),
  setGovernance: action<Agent & { readonly use: Listed; readonly approve: Listed }, null>(
    "agents:adminSetGovernance",
  ),
  setApprovers: action<Agent & { readonly tool: string; readonly approvers: Listed }, null>(
    "agents:adminSetApprovers",
  ),
  setModels: action<{ readonly models: Listed }, null>("agents:adminSetModels"),
  setMinutes: action<Agent & { readonly minutes: number | null }, null>("agents:adminSetMinutes"),
  audit: query<Partial<Agent>, readonly AuditRow[]>("agents:adminAudit"),
  spend: query<{ readonly days?: number }, SpendView>("agents:adminSpend"),
});

/** As many as the server gives at once. */
export const INBOX_LIMIT = 1000;

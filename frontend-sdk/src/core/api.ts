/** References to server functions: strings on the wire, typed for the people who write them. */

import {
  AGENT_APPROVALS,
  AGENT_CANCEL,
  AGENT_EDIT_MESSAGE,
  AGENT_FORK,
  AGENT_MESSAGES,
  AGENT_REGENERATE,
  AGENT_RESOLVE_APPROVAL,
  AGENT_RESOLVE_APPROVALS,
  AGENT_RETRY,
  AGENT_RUN,
  AGENT_SELECT_BRANCH,
  AGENT_STATE,
  AGENT_THREAD,
  type AgentApprovalsArgs,
  type AgentBranchResult,
  type AgentCancelArgs,
  type AgentCancelResult,
  type AgentEditMessageArgs,
  type AgentForkArgs,
  type AgentForkResult,
  type AgentMessagesArgs,
  type AgentRegenerateArgs,
  type AgentResolveApprovalArgs,
  type AgentResolveApprovalResult,
  type AgentResolveApprovalsArgs,
  type AgentRetryArgs,
  type AgentRetryResult,
  type AgentRunArgs,
  type AgentRunResult,
  type AgentSelectBranchArgs,
  type AgentStateArgs,
  type AgentThreadArgs,
  type ApprovalRecord,
  type Message,
  type ResolvedApproval,
  type ThreadView,
} from "./protocol.gen.js";

declare const signature: unique symbol;
declare const kind: unique symbol;

/** `module:name`, remembering what the function takes and answers. */
export type FunctionRef<Args = never, Result = unknown> = string & {
  readonly [signature]?: (args: Args) => Result;
};

/** A function that reads, and that can be watched. */
export type QueryRef<Args = never, Result = unknown> = FunctionRef<Args, Result> & {
  readonly [kind]?: "query";
};

/** A function that is one transaction. */
export type MutationRef<Args = never, Result = unknown> = FunctionRef<Args, Result> & {
  readonly [kind]?: "mutation";
};

/** A function that may reach the world outside. */
export type ActionRef<Args = never, Result = unknown> = FunctionRef<Args, Result> & {
  readonly [kind]?: "action";
};

export type ArgsOf<Ref> = Ref extends { readonly [signature]?: (args: infer Args) => unknown }
  ? Args
  : never;

export type ResultOf<Ref> = Ref extends { readonly [signature]?: (args: never) => infer Result }
  ? Result
  : never;

type Name = `${string}:${string}`;

/**
 * Return a typed reference, as `ref<{ input: string }, { id: string }>("chat:startRun")`.
 * It says nothing of what kind the function is, so it may stand for any.
 */
export function ref<Args, Result>(name: Name): FunctionRef<Args, Result> {
  return name as FunctionRef<Args, Result>;
}

/** As `ref`, of a query. */
export const query: <Args, Result>(name: Name) => QueryRef<Args, Result> = ref;
/** As `ref`, of a mutation. */
export const mutation: <Args, Result>(name: Name) => MutationRef<Args, Result> = ref;
/** As `ref`, of an action. */
export const action: <Args, Result>(name: Name) => ActionRef<Args, Result> = ref;

/** Arguments that may be left out where the function needs none. */
export type Arguments<Args, More = never> =
  Record<never, never> extends Args ? [args?: Args | More] : [args: Args | More];

/** The functions that every server has. */
export const agents = {
  agentMessages: query<AgentMessagesArgs, readonly Message[]>(AGENT_MESSAGES),
  agentThread: query<AgentThreadArgs, ThreadView | null>(AGENT_THREAD),
  agentState: query<AgentStateArgs, unknown>(AGENT_STATE),
  agentRun: mutation<AgentRunArgs, AgentRunResult>(AGENT_RUN),
  agentCancel: action<AgentCancelArgs, AgentCancelResult>(AGENT_CANCEL),
  agentRetry: action<AgentRetryArgs, AgentRetryResult>(AGENT_RETRY),
  agentRegenerate: mutation<AgentRegenerateArgs, AgentBranchResult>(AGENT_REGENERATE),
  agentEditMessage: mutation<AgentEditMessageArgs, AgentBranchResult>(AGENT_EDIT_MESSAGE),
  agentSelectBranch: action<AgentSelectBranchArgs, null>(AGENT_SELECT_BRANCH),
  agentFork: mutation<AgentForkArgs, AgentForkResult>(AGENT_FORK),
  agentApprovals: query<AgentApprovalsArgs, readonly ApprovalRecord[]>(AGENT_APPROVALS),
  agentResolveApproval: action<AgentResolveApprovalArgs, AgentResolveApprovalResult>(
    AGENT_RESOLVE_APPROVAL,
  ),
  agentResolveApprovals: action<AgentResolveApprovalsArgs, readonly ResolvedApproval[]>(
    AGENT_RESOLVE_APPROVALS,
  ),
} as const;

/** What hooks take: the built-in functions beside those of the application. */
export interface Api {
  readonly agents: typeof agents;
}

/** Return `functions` with the built-ins beside them. */
export function defineApi<Functions extends object>(functions: Functions): Functions & Api {
  return { ...functions, agents };
}

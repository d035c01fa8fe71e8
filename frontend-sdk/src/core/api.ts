/** References to server functions: strings on the wire, typed for the people who write them. */

import {
  AGENT_CANCEL,
  AGENT_MESSAGES,
  AGENT_RESOLVE_APPROVAL,
  AGENT_RETRY,
  AGENT_RUN,
  AGENT_STATE,
  AGENT_THREAD,
  type AgentCancelArgs,
  type AgentCancelResult,
  type AgentMessagesArgs,
  type AgentResolveApprovalArgs,
  type AgentResolveApprovalResult,
  type AgentRetryArgs,
  type AgentRetryResult,
  type AgentRunArgs,
  type AgentRunResult,
  type AgentStateArgs,
  type AgentThreadArgs,
  type Message,
  type ThreadView,
} from "./protocol.gen.js";

declare const signature: unique symbol;

/** `module:name`, remembering what the function takes and answers. */
export type FunctionRef<Args = never, Result = unknown> = string & {
  readonly [signature]?: (args: Args) => Result;
};

export type ArgsOf<Ref> = Ref extends { readonly [signature]?: (args: infer Args) => unknown }
  ? Args
  : never;

export type ResultOf<Ref> = Ref extends { readonly [signature]?: (args: never) => infer Result }
  ? Result
  : never;

/** Return a typed reference, as `ref<{ input: string }, { id: string }>("chat:startRun")`. */
export function ref<Args, Result>(name: `${string}:${string}`): FunctionRef<Args, Result> {
  return name as FunctionRef<Args, Result>;
}

/** The functions that every server has. */
export const agents = {
  agentMessages: ref<AgentMessagesArgs, readonly Message[]>(AGENT_MESSAGES),
  agentThread: ref<AgentThreadArgs, ThreadView | null>(AGENT_THREAD),
  agentState: ref<AgentStateArgs, unknown>(AGENT_STATE),
  agentRun: ref<AgentRunArgs, AgentRunResult>(AGENT_RUN),
  agentCancel: ref<AgentCancelArgs, AgentCancelResult>(AGENT_CANCEL),
  agentRetry: ref<AgentRetryArgs, AgentRetryResult>(AGENT_RETRY),
  agentResolveApproval: ref<AgentResolveApprovalArgs, AgentResolveApprovalResult>(
    AGENT_RESOLVE_APPROVAL,
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

/**
 * What an agent's tools take and give, its state and its output, for who writes front ends.
 *
 * Types alone, but for four functions that say of what is there which agent it is of.  `ropewalk
 * codegen` writes an agent's types beside its slug; nothing of them is there at run time.
 */

import type {
  Message,
  Part,
  PendingApproval,
  ThreadView,
  ToolCallPart,
  ToolResultPart,
} from "./protocol.gen.js";

declare const declared: unique symbol;

interface ToolTypes {
  readonly input: unknown;
  readonly output: unknown;
}

/** An agent's slug, remembering what its tools take and give, by name, its state and its output. */
export type AgentRef<
  Slug extends string = string,
  Tools = unknown,
  State = unknown,
  Output = unknown,
> = Slug & {
  readonly [declared]?: {
    readonly tools: Tools;
    readonly state: State;
    readonly output: Output;
  };
};

/** Return a typed slug, as `agent<"support", SupportTools>("support")`. */
export function agent<
  Slug extends string,
  Tools = Record<never, never>,
  State = unknown,
  Output = unknown,
>(slug: Slug): AgentRef<Slug, Tools, State, Output> {
  return slug;
}

type DeclaredBy<Agent> = Agent extends { readonly [declared]?: infer Declared }
  ? NonNullable<Declared>
  : never;

/** What an agent's tools take and give, by their names. */
export type ToolsOf<Agent> =
  DeclaredBy<Agent> extends { readonly tools: infer Tools } ? Tools : never;

/** What an agent keeps as the state of a thread: `useAgentState<StateOf<typeof agents.board>>`. */
export type StateOf<Agent> =
  DeclaredBy<Agent> extends { readonly state: infer State } ? State : never;

/** What an agent answers with, if it declares a form; unknown of any other, and of a bare slug. */
export type OutputOf<Agent> =
  DeclaredBy<Agent> extends { readonly output: infer Output } ? Output : unknown;

type Each<Tools, Make extends { [Name in keyof Tools]: unknown }> = Make[keyof Tools];
type Call<Base, Tools> = Each<
  Tools,
  {
    [Name in keyof Tools]: Omit<Base, "name" | "input"> & {
      readonly name: Name;
      readonly input: Tools[Name] extends ToolTypes ? Tools[Name]["input"] : never;
    };
  }
>;
type Result<Tools> = Each<
  Tools,
  {
    [Name in keyof Tools]: Omit<ToolResultPart, "name" | "output" | "isError"> & {
      readonly name: Name;
    } & (
        | { readonly isError: true; readonly output?: string }
        | {
            readonly isError?: false;
            readonly output?: Tools[Name] extends ToolTypes ? Tools[Name]["output"] : never;
          }
      );
  }
>;

/** A part of an agent's message: what narrows it is its `type`, and the `name` of the tool. */
export type PartOf<Agent> =
  | Exclude<Part, ToolCallPart | ToolResultPart>
  | Call<ToolCallPart, ToolsOf<Agent>>
  | Result<ToolsOf<Agent>>;

/** A call of an agent's that waits for a person, or did; its `name` narrows it. */
export type ApprovalOf<Agent, Approval extends PendingApproval = PendingApproval> = Call<
  Approval,
  ToolsOf<Agent>
>;

/**
 * Return the parts of a message as those of an agent. It is not checked: arguments that a model
 * got wrong are there as it sent them, and old messages hold calls of tools that are gone.
 */
export function partsOf<Agent extends AgentRef>(
  _agent: Agent,
  message: Pick<Message, "parts">,
): readonly PartOf<Agent>[] {
  return message.parts as readonly PartOf<Agent>[];
}

/** Return an approval as that of an agent; undefined if another one asks. */
export function approvalOf<Agent extends AgentRef, Approval extends PendingApproval>(
  agent: Agent,
  approval: Approval,
): ApprovalOf<Agent, Approval> | undefined {
  return approval.agent === agent
    ? (approval as unknown as ApprovalOf<Agent, Approval>)
    : undefined;
}

/**
 * Return what the agent answered with: the output of the thread's newest run, null until that has
 * ended. It is not checked: a run that began under another release, or was asked for in a form of
 * its own, has answered in that.
 */
export function outputOf<Agent extends AgentRef>(
  agent: Agent,
  thread: Pick<ThreadView, "agent" | "output"> | null | undefined,
): OutputOf<Agent> | null {
  return (thread?.agent === agent ? (thread.output ?? null) : null) as OutputOf<Agent> | null;
}

/**
 * What waits for a person, what became of it, and the deciding: for inboxes and cards.
 *
 * Laws: a decision names the conversation that asks and the arguments that were shown; it
 * shows at once, and if it is refused the card is back.  An edit shows when it was taken: it
 * may be wrong, and then there is something to correct.  Nothing else of the core needs this,
 * so who has no approvals does not load it.
 */

import { type Api, agents, type FunctionRef } from "./api.js";
import { caller } from "./caller.js";
import type { ChatClient } from "./client.js";
import { asError, RopewalkError, shownAsWell } from "./errors.js";
import type { LocalStore } from "./layers.js";
import type {
  AgentApprovalsArgs,
  ApprovalDecision,
  ApprovalRecord,
  PendingApproval,
  Surface,
} from "./protocol.gen.js";
import { derive, type Readable } from "./store.js";
import { same } from "./thread-state.js";

/** What is needed of an approval to decide it. */
export type Decidable = Pick<PendingApproval, "id" | "key" | "toolCallId" | "inputHash">;

type Input = Readonly<Record<string, unknown>>;

/** A person's answer to one call. With `editedInput` the call is made with other arguments. */
export interface Verdict {
  readonly approval: Decidable;
  readonly decision: ApprovalDecision;
  readonly reason?: string | undefined;
  readonly editedInput?: Input | undefined;
}

export interface ApprovalsOptions {
  /** Those of one thread and of what it has delegated; by default all that are the user's to see. */
  readonly key?: string | undefined;
  /** Whether what was decided is listed, too. Default: `pending`. */
  readonly status?: "pending" | "all" | undefined;
  /** How many at most. Default: 200. */
  readonly limit?: number | undefined;
  /** Where the person decides, for the record. Default: `api`. */
  readonly via?: Surface | undefined;
}

/** The same as an adapter takes it, which says of all its keys that they are a thread's. */
export interface AgentApprovalsOptions extends Omit<ApprovalsOptions, "key"> {
  readonly api: Api;
  readonly threadKey?: string | undefined;
}

export interface ApprovalsState {
  /** The longest waiting first. */
  readonly pending: readonly ApprovalRecord[];
  /** With `status: "all"` what was decided; else what this client decides just now. */
  readonly decided: readonly ApprovalRecord[];
  /** Why the last decision was refused, until the next one; or why nothing can be read. */
  readonly error: RopewalkError | undefined;
  readonly loading: boolean;
}

/** What a person can do. Each rejects if it is refused. */
export interface ApprovalActions {
  readonly approve: (approval: Decidable, reason?: string) => Promise<void>;
  readonly reject: (approval: Decidable, reason?: string) => Promise<void>;
  /** Approve with other arguments than those that were asked for. */
  readonly edit: (approval: Decidable, input: Input, reason?: string) => Promise<void>;
  /** Decide many: of each conversation all, or none. */
  readonly decideAll: (verdicts: readonly Verdict[]) => Promise<void>;
}

export interface Approvals extends ApprovalActions {
  readonly state: Readable<ApprovalsState>;
}

/** Return the approvals of one conversation (`key`) or of all that are the user's to see. */
export function createApprovals(
  client: ChatClient,
  { via, ...given }: ApprovalsOptions = {},
): Approvals {
  // What is undefined is left out, in names as on the wire.
  const args = given as AgentApprovalsArgs;
  const view = client.approvals(args);
  const decideThose = (key: string, verdicts: readonly Verdict[]): Promise<unknown> => {
    const decisions = verdicts.map(decisionOf);
    const [first, second] = decisions;
    const ref = second ? agents.agentResolveApprovals : agents.agentResolveApproval;
    const said = { key, ...(via && { via }), ...(second ? { decisions } : first) };
    return client.mutate(ref as FunctionRef<object>, said, {
      optimistic: (local) => show(local, args, verdicts),
    });
  };
  const call = caller(async (verdicts: readonly Verdict[]) => {
    const byKey = new Map<string, Verdict[]>();
    for (const verdict of verdicts) {
      const { key } = verdict.approval;
      byKey.set(key, [...(byKey.get(key) ?? []), verdict]);
    }
    const answers = await Promise.allSettled([...byKey].map((some) => decideThose(...some)));
    for (const answer of answers) {
      if (answer.status === "rejected") throw whoWasQuicker(asError(answer.reason));
    }
  });
  const decideAll = (verdicts: readonly Verdict[]) => shownAsWell(call(verdicts));
  let rows: readonly ApprovalRecord[] = [];
  const state = derive([view, call.state], ({ value = [], error, loading }, calls) => {
    rows = keeping(rows, value);
    return {
      pending: rows.filter(isPending),
      decided: rows.filter((row) => !isPending(row)),
      error: calls.error ?? error,
      loading,
    };
  });
  return {
    state,
    approve: (approval, reason) => decideAll([{ approval, decision: "approved", reason }]),
    reject: (approval, reason) => decideAll([{ approval, decision: "denied", reason }]),
    edit: (approval, editedInput, reason) =>
      decideAll([{ approval, decision: "approved", reason, editedInput }]),
    decideAll,
  };
}

/** Return what can be done to the approvals that are on show at that moment. */
export function approvalActions(approvals: () => Approvals): ApprovalActions {
  return {
    approve: (...given) => approvals().approve(...given),
    reject: (...given) => approvals().reject(...given),
    edit: (...given) => approvals().edit(...given),
    decideAll: (verdicts) => approvals().decideAll(verdicts),
  };
}

/** Return `rows`, those that did not change as the objects that they were: cards stay as they are. */
function keeping(
  before: readonly ApprovalRecord[],
  rows: readonly ApprovalRecord[],
): readonly ApprovalRecord[] {
  const known = new Map(before.map((row) => [row.id, row]));
  return rows.map((row) => {
    const old = known.get(row.id);
    return old && same(old, row) ? old : row;
  });
}

function decisionOf({ approval, decision, reason, editedInput }: Verdict) {
  const { toolCallId, inputHash } = approval;
  return {
    toolCallId,
    decision,
    inputHash,
    ...(reason && { reason }),
    ...(editedInput && { editedInput }),
  };
}

/** Lay verdicts over what waits, in the list and on the thread that it is of. */
function show(local: LocalStore, args: AgentApprovalsArgs, verdicts: readonly Verdict[]): void {
  const plain = verdicts.filter(({ editedInput }) => editedInput === undefined);
  const given = new Map(plain.map((verdict) => [verdict.approval.id, verdict]));
  const rows = local.get(agents.agentApprovals, args);
  if (rows) {
    const shown = rows.map((row) => decided(row, given.get(row.id)));
    local.set(agents.agentApprovals, args, shown);
  }
  for (const key of new Set([args.key, verdicts[0]?.approval.key])) {
    const thread = key === undefined ? undefined : local.get(agents.agentThread, { key });
    if (key === undefined || !thread) continue;
    const pendingApprovals = thread.pendingApprovals.filter(({ id }) => !given.has(id));
    local.set(agents.agentThread, { key }, { ...thread, pendingApprovals });
  }
}

function decided(row: ApprovalRecord, verdict: Verdict | undefined): ApprovalRecord {
  if (!verdict || !isPending(row)) return row;
  const { decision: status, reason } = verdict;
  return { ...row, status, mayDecide: false, ...(reason && { reason }) };
}

function isPending({ status }: ApprovalRecord): boolean {
  return status === "pending";
}

/** Say whose decision stands, where somebody was quicker. */
function whoWasQuicker(error: RopewalkError): RopewalkError {
  const { status, decidedBy } = (error.data ?? {}) as { status?: string; decidedBy?: string };
  if (error.code !== "CONFLICT" || !status) return error;
  const by = decidedBy ? ` by ${decidedBy}` : "";
  return new RopewalkError(error.code, `already ${status}${by}`, error.data);
}

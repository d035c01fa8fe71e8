/** Sending decisions, and saying what came of them. */

import {
  type ApprovalDecision,
  type ApprovalRecord,
  type ChatClient,
  type NewDecision,
  RopewalkError,
} from "ropewalk";
import { api } from "../api.js";
import { counted } from "../ui/moments.js";
import { wordsOf } from "../ui/status.js";
import { byThread, type ThreadGroup } from "./grouping.js";

type Caller = Pick<ChatClient, "call">;
type Edit = Readonly<Record<string, unknown>>;

/** As the server takes them in one call. */
const BATCH = 200;

/** A socket takes so many calls at once, and other things want to be asked besides. */
const AT_ONCE = 16;

export interface Verdict {
  readonly decision: ApprovalDecision;
  readonly reason?: string;
  readonly editedInput?: Edit;
}

/** Decide one call, on exactly the arguments that were shown. */
export async function decideOne(
  client: Caller,
  approval: ApprovalRecord,
  verdict: Verdict,
): Promise<void> {
  await client.call(api.decide, {
    key: approval.key,
    ...decisionOn(approval, verdict),
    via: "dashboard",
  });
}

export interface BatchOutcome {
  readonly decided: number;
  /** A sentence for each thread of which nothing was decided. */
  readonly failures: readonly string[];
}

/** Decide many, thread by thread: what fails for one thread is done for the others. */
export async function decideMany(
  client: Caller,
  approvals: readonly ApprovalRecord[],
  verdict: Verdict,
): Promise<BatchOutcome> {
  const left = [...byThread(approvals)];
  const outcomes: BatchOutcome[] = [];
  const takeTurns = async (): Promise<void> => {
    for (let group = left.shift(); group !== undefined; group = left.shift()) {
      outcomes.push(await decideGroup(client, group, verdict));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns));
  return {
    decided: outcomes.reduce((all, { decided }) => all + decided, 0),
    failures: outcomes.flatMap(({ failures }) => failures),
  };
}

/** Decide a thread's calls, part after part: they wait for one another at the thread's row. */
async function decideGroup(
  client: Caller,
  group: ThreadGroup,
  verdict: Verdict,
): Promise<BatchOutcome> {
  let decided = 0;
  for (const part of chunks(group)) {
    try {
      await client.call(api.decideAll, {
        key: part.key,
        decisions: part.approvals.map((one) => decisionOn(one, verdict)),
        via: "dashboard",
      });
    } catch (thrown) {
      return { decided, failures: [failureOf(part, thrown)] };
    }
    decided += part.approvals.length;
  }
  return { decided, failures: [] };
}

function decisionOn(approval: ApprovalRecord, verdict: Verdict): NewDecision {
  const { toolCallId, inputHash } = approval;
  return { toolCallId, inputHash, ...verdict };
}

function chunks(group: ThreadGroup): readonly ThreadGroup[] {
  const parts: ThreadGroup[] = [];
  for (let at = 0; at < group.approvals.length; at += BATCH) {
    parts.push({ key: group.key, approvals: group.approvals.slice(at, at + BATCH) });
  }
  return parts;
}

/** Return what went wrong with a thread's batch, and with which call of it. */
export function failureOf({ key, approvals }: ThreadGroup, thrown: unknown): string {
  const data = thrown instanceof RopewalkError ? (thrown.data as { toolCallId?: unknown }) : null;
  const call = approvals.find(({ toolCallId }) => toolCallId === data?.toolCallId);
  const which = call === undefined ? "" : ` (${call.name})`;
  const left =
    approvals.length > 1 ? ` None of its ${counted(approvals.length, "call")} was decided.` : "";
  return `${call?.agent ?? approvals[0]?.agent ?? ""} in ${key}${which}: ${sentenceOf(thrown)}${left}`;
}

/** Return an error as a sentence; of a conflict it says who was quicker. */
export function sentenceOf(thrown: unknown): string {
  if (!(thrown instanceof RopewalkError)) return String(thrown);
  if (thrown.code === "CONFLICT") {
    const data = (thrown.data ?? {}) as { decidedBy?: unknown; status?: unknown };
    if (typeof data.status === "string") {
      const who = typeof data.decidedBy === "string" ? ` by ${data.decidedBy}` : "";
      return `It was already ${wordsOf(data.status)}${who}.`;
    }
  }
  if (thrown.code === "FORBIDDEN") return `You may not decide this: ${thrown.message}.`;
  return thrown.message;
}

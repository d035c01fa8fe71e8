/**
 * One branch of a conversation as it is known, or with a new way on laid over it.
 *
 * Pure.  Who regenerates or edits sees at once what the new branch will begin with: the
 * messages before, and his own on its way.  This lies over the branch that he did it on
 * until the new one is there, and nothing of what comes after shows through.
 */

import type { RopewalkError } from "./errors.js";
import { type LiveText, SILENT } from "./live-text.js";
import type { Send } from "./optimistic.js";
import type { BranchList, Message, ThreadView } from "./protocol.gen.js";
import type { ThreadSends } from "./sends.js";
import type { SubscriptionState, SubscriptionView } from "./subscription.js";

/** A message that is sent again, as the beginning of a new branch. */
export interface Redo extends Send {
  /** Its place: what stands there and after it is not of the new branch. */
  readonly seq: number;
}

/** What a thread says of its new branch, before that says it itself. */
const BEGINNING = {
  status: "queued",
  runId: null,
  error: null,
  pendingApprovals: [],
  waiting: [],
} as const;

export interface Branch {
  readonly key: string;
  readonly rows: readonly Message[] | undefined;
  readonly live: LiveText;
  readonly thread: ThreadView | null | undefined;
  readonly sends: ThreadSends;
  readonly error: RopewalkError | undefined;
  readonly loading: boolean;
}

/** Return the branch `key`. Before its thread is known nothing of it shows: another may be meant. */
export function branchOf(
  key: string,
  { view, live }: SubscriptionState,
  { value: thread, loading, error = view.error }: SubscriptionView<ThreadView | null>,
  sends: ThreadSends,
  branches: BranchList | undefined,
): Branch {
  if (loading) return { key, rows: undefined, live: SILENT, thread, sends, error, loading };
  const rows = view.value as Branch["rows"];
  const known: Branch = { key, rows, live, thread, sends, error, loading: view.loading };
  const { redo } = sends;
  if (!redo || isPassed(redo, key, branches)) return known;
  return {
    ...known,
    rows: rows?.filter(({ seq }) => seq < redo.seq),
    live: SILENT,
    thread: thread && { ...thread, ...BEGINNING },
    sends: { sends: [redo], failure: undefined },
  };
}

/** Whether the new branch is known, and this one was selected in its place. */
function isPassed(redo: Redo, key: string, branches: BranchList | undefined): boolean {
  return branches?.selected === key && branches.list.some((one) => one.key === redo.branch);
}

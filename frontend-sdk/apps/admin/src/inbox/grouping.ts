/** Which approvals belong together: those of a thread are decided together, all or none. */

import type { ApprovalRecord } from "ropewalk";

export interface ThreadGroup {
  readonly key: string;
  readonly approvals: readonly ApprovalRecord[];
}

/** Return the approvals thread by thread, in the order in which the threads came first. */
export function byThread(approvals: readonly ApprovalRecord[]): readonly ThreadGroup[] {
  const groups = new Map<string, ApprovalRecord[]>();
  for (const one of approvals) {
    const group = groups.get(one.key);
    if (group === undefined) groups.set(one.key, [one]);
    else group.push(one);
  }
  return [...groups].map(([key, group]) => ({ key, approvals: group }));
}

/** Return how many approvals each run waits for: it goes on when the last one is decided. */
export function perRun(approvals: readonly ApprovalRecord[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { runId } of approvals) counts.set(runId, (counts.get(runId) ?? 0) + 1);
  return counts;
}

/** Return what was there and is gone, by id. */
export function goneFrom(
  before: readonly ApprovalRecord[],
  now: readonly ApprovalRecord[],
): readonly ApprovalRecord[] {
  const here = new Set(now.map(({ id }) => id));
  return before.filter(({ id }) => !here.has(id));
}

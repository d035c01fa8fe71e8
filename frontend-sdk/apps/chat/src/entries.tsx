/** What stands in a conversation, in order: messages, and what other agents ask in between. */

import { Fragment, type ReactNode } from "react";
import { type LiveTurn, liveKey } from "ropewalk";
import { Child, childrenAfter } from "./approvals/children.js";
import { useDeciding } from "./approvals/deciding.js";
import { Entry } from "./message.js";
import type { Step } from "./steps.js";

interface EntriesProps {
  readonly entries: readonly (Step | LiveTurn)[];
}

export function Entries({ entries }: EntriesProps): ReactNode {
  const { children } = useDeciding();
  const asked = childrenAfter(entries.map(timeOf), children);
  return entries.map((entry, index) => (
    <Fragment key={keyOf(entry)}>
      <Entry entry={entry} />
      {asked[index]?.map((approval) => (
        <Child key={approval.id} approval={approval} />
      ))}
    </Fragment>
  ));
}

/** When an entry was stored; what is not yet has no time that could be compared. */
function timeOf(entry: Step | LiveTurn): string | undefined {
  return "parts" in entry || entry.message.optimistic ? undefined : entry.message.createdAt;
}

function keyOf(entry: Step | LiveTurn): string {
  return "parts" in entry ? liveKey(entry.run, entry.turn) : entry.key;
}

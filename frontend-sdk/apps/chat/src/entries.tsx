/** What stands in a conversation, in order: messages, and what other agents ask in between. */

import { Fragment, type ReactNode } from "react";
import type { Entry } from "ropewalk";
import { Child, childrenAfter } from "./approvals/children.js";
import { useDeciding } from "./approvals/deciding.js";
import { EntryView } from "./message.js";

interface EntriesProps {
  readonly entries: readonly Entry[];
}

export function Entries({ entries }: EntriesProps): ReactNode {
  const { children } = useDeciding();
  const asked = childrenAfter(entries.map(timeOf), children);
  return entries.map((entry, index) => (
    <Fragment key={entry.key}>
      <EntryView entry={entry} />
      {asked[index]?.map((approval) => (
        <Child key={approval.id} approval={approval} />
      ))}
    </Fragment>
  ));
}

/** When an entry was stored; what is not yet has no time that could be compared. */
function timeOf({ message }: Entry): string | undefined {
  return message?.optimistic ? undefined : message?.createdAt;
}

/** What waits for a person, across all threads; and what was decided. */

import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ApprovalRecord, ChatClient } from "ropewalk";
import { useClient, useQuery } from "ropewalk/react";
import { api, INBOX_LIMIT } from "../api.js";
import { Link, to } from "../router.js";
import { Empty, Loading, Trouble } from "../ui/states.js";
import { useKept } from "../ui/use-kept.js";
import { ApprovalCard } from "./approval-card.js";
import { FIRST } from "./asked.js";
import { BatchBar } from "./batch-bar.js";
import { type Tools, toolOf } from "./consequence.js";
import { Decided } from "./decided.js";
import { goneFrom, perRun } from "./grouping.js";
import { NoticesButton } from "./notices.js";
import { Verdicts } from "./verdicts.js";

const PENDING = { status: "pending", limit: INBOX_LIMIT } as const;
const NONE: readonly ApprovalRecord[] = [];
const RECENT = 5;

const idOf = ({ id }: ApprovalRecord): string => id;
const slugOf = ({ slug }: Tools): string => slug;

export function Inbox({ tab }: { readonly tab: "waiting" | "decided" }): ReactNode {
  return (
    <div className="page">
      <header className="title">
        <h1>Inbox</h1>
        <NoticesButton />
        <nav className="tabs" aria-label="Approvals">
          <Link href={to()} aria-current={tab === "waiting" ? "page" : undefined}>
            Waiting
          </Link>
          <Link
            href={to("decided")}
            aria-current={tab === "decided" ? "page" : undefined}
            data-testid="tab-decided"
          >
            Decided
          </Link>
        </nav>
      </header>
      {tab === "waiting" ? <Waiting /> : <Decided />}
    </div>
  );
}

function Waiting(): ReactNode {
  const { value, error } = useQuery(api.approvals, PENDING);
  const { value: agents } = useQuery(api.agentList);
  const pending = useKept(value ?? NONE, idOf);
  const offers = useMemo(
    () => (agents ?? []).map(({ slug, tools }) => ({ slug, tools })),
    [agents],
  );
  const tools = useKept<Tools>(offers, slugOf);
  const counts = useMemo(() => perRun(pending), [pending]);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const decided = useJustDecided(value && pending);
  const select = useCallback((id: string, selected: boolean) => {
    setPicked((before) => {
      const after = new Set(before);
      if (selected) after.add(id);
      else after.delete(id);
      return after;
    });
  }, []);
  const chosen = pending.filter(({ id }) => picked.has(id));
  const mine = pending.filter(({ mayDecide }) => mayDecide);

  if (value === undefined) {
    return error ? <Trouble error={error} /> : <Loading what="what waits" />;
  }
  return (
    <>
      {error && <Trouble error={error} />}
      <Verdicts decided={decided} />
      {pending.length === 0 ? (
        <Empty title="Nothing waits for a decision">
          <p>When an agent asks before it acts, it appears here at once.</p>
        </Empty>
      ) : (
        <>
          <BatchBar
            chosen={chosen}
            total={mine.length}
            selectAll={() => setPicked(new Set(mine.map(({ id }) => id)))}
            clear={() => setPicked(new Set())}
          />
          <div className="asks" data-testid="approvals">
            {pending.map((approval, place) => (
              <ApprovalCard
                key={approval.id}
                approval={approval}
                tool={toolOf(tools, approval)}
                others={(counts.get(approval.runId) ?? 1) - 1}
                isFirst={place < FIRST}
                selected={picked.has(approval.id)}
                select={select}
              />
            ))}
          </div>
        </>
      )}
    </>
  );
}

/** The decisions that were made, here or elsewhere, while the page was open; newest first. */
function useJustDecided(pending: readonly ApprovalRecord[] | undefined): readonly ApprovalRecord[] {
  const client = useClient();
  const before = useRef<readonly ApprovalRecord[]>(NONE);
  const gone = useRef<readonly ApprovalRecord[]>(NONE);
  const asking = useRef(false);
  const [decided, setDecided] = useState<readonly ApprovalRecord[]>(NONE);
  const ask = useCallback(async () => {
    // One asking at a time: what goes meanwhile is in the next, and of many the last are shown.
    if (asking.current) return;
    asking.current = true;
    while (gone.current.length > 0) {
      const last = gone.current.slice(-RECENT);
      gone.current = NONE;
      const ids = new Set(last.map(({ id }) => id));
      const found = await decisionsOn(client, last).catch(() => NONE);
      setDecided((known) => [...found, ...known.filter(({ id }) => !ids.has(id))].slice(0, RECENT));
    }
    asking.current = false;
  }, [client]);
  useEffect(() => {
    if (pending === undefined) return;
    gone.current = [...gone.current, ...goneFrom(before.current, pending)];
    before.current = pending;
    void ask();
  }, [ask, pending]);
  return decided;
}

/** Return what came of approvals that wait no longer; the tab with the history has them, too. */
async function decisionsOn(
  client: ChatClient,
  approvals: readonly ApprovalRecord[],
): Promise<readonly ApprovalRecord[]> {
  const ids = new Set(approvals.map(({ id }) => id));
  const keys = [...new Set(approvals.map(({ key }) => key))];
  const lists = await Promise.all(
    keys.map((key) => client.query(api.approvals, { key, status: "all", limit: INBOX_LIMIT })),
  );
  return lists.flat().filter(({ id, status }) => ids.has(id) && status !== "pending");
}

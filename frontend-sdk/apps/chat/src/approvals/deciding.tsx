/** The approvals of the conversation on show, for every card in it: what waits, and how to decide. */

import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import type { ApprovalRecord } from "ropewalk";
import { type UseApprovals, useApprovals, useConnection } from "ropewalk/react";
import { api } from "../api.gen.js";

export interface Deciding extends Pick<UseApprovals, "approve" | "reject" | "edit" | "decideAll"> {
  /** By the id of the call, those that the agent on show asked for. */
  readonly own: ReadonlyMap<string, ApprovalRecord>;
  /** Those that agents asked for whom it has given work to, in the order of asking. */
  readonly children: readonly ApprovalRecord[];
  /** What waits for whoever looks at the page. */
  readonly mine: readonly ApprovalRecord[];
  /** How many wait, for whomever. */
  readonly waiting: number;
  /** Ids of those that are marked, to be decided together. */
  readonly selected: ReadonlySet<string>;
  readonly select: (ids: readonly string[], on: boolean) => void;
  readonly me: string | undefined;
}

const Context = createContext<Deciding | undefined>(undefined);

export function useDeciding(): Deciding {
  const deciding = useContext(Context);
  if (deciding === undefined) throw new Error("useDeciding: there is no DecidingProvider above");
  return deciding;
}

interface ProviderProps {
  readonly threadKey: string;
  /** Show none: another branch begins, and nothing was asked in that yet. */
  readonly none?: boolean;
  readonly children: ReactNode;
}

const NONE: readonly ApprovalRecord[] = [];

export function DecidingProvider({ threadKey, none, children }: ProviderProps): ReactNode {
  const found = useApprovals({ api, threadKey, status: "all", via: "dashboard" });
  const { approve, reject, edit, decideAll } = found;
  const { pending, decided } = none ? { pending: NONE, decided: NONE } : found;
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const me = useMe();

  const select = useCallback((ids: readonly string[], on: boolean) => {
    setMarked((before) => {
      const after = new Set(before);
      for (const id of ids) on ? after.add(id) : after.delete(id);
      return after;
    });
  }, []);
  const deciding = useMemo<Deciding>(() => {
    const all = [...decided, ...pending];
    const mine = pending.filter(({ mayDecide }) => mayDecide);
    return {
      own: new Map(
        all.filter(({ key }) => key === threadKey).map((one) => [one.toolCallId, one] as const),
      ),
      children: all
        .filter(({ key }) => key !== threadKey)
        .sort((a, b) => Date.parse(a.requestedAt) - Date.parse(b.requestedAt)),
      mine,
      waiting: pending.length,
      selected: new Set(mine.flatMap(({ id }) => (marked.has(id) ? [id] : []))),
      ...{ select, me, approve, reject, edit, decideAll },
    };
  }, [threadKey, pending, decided, marked, me, select, approve, reject, edit, decideAll]);
  return <Context value={deciding}>{children}</Context>;
}

/** Who looks at the page, as the server knows him. */
export function useMe(): string | undefined {
  const connection = useConnection();
  return connection.name === "open" ? connection.identity?.userId : undefined;
}

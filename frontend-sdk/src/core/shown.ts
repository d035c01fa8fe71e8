/**
 * What a chat shows, from what is watched and what was done here: the selected branch.
 *
 * Wiring alone; what it computes is in `branch`, `branches` and `chat-state`.  The thread of the
 * root says what is selected; messages and thread of that branch are watched, and no others.
 */

import { agents } from "./api.js";
import { type Branch, branchOf } from "./branch.js";
import { alternatives, choose } from "./branches.js";
import type { ChatContext } from "./chat-context.js";
import {
  type AgentState,
  agentState,
  type ChatState,
  chatState,
  messagesOf,
  speaking,
} from "./chat-state.js";
import { follow } from "./follow.js";
import { type ChatMessage, waitingOf } from "./optimistic.js";
import type { BranchList, ThreadView } from "./protocol.gen.js";
import { derive, type Readable } from "./store.js";
import { LOADING, type SubscriptionState, type SubscriptionView } from "./subscription.js";

export interface Shown {
  readonly state: Readable<ChatState>;
  /** Without messages, which are not asked for. */
  readonly agent: Readable<AgentState>;
  readonly branch: Readable<Branch>;
  /** The branches as the server has told of them. */
  readonly heard: Readable<BranchList | undefined>;
}

const UNREAD: Readable<SubscriptionState> = derive([], () => ({
  ...LOADING,
  view: { value: [], error: undefined, loading: false },
}));

export function shown(
  { sends, watch }: Pick<ChatContext, "sends" | "watch">,
  root: string,
  messagesArgs: (key: string) => Readonly<Record<string, unknown>>,
  older: Readable<boolean>,
): Shown {
  const threadOf = (key: string) =>
    derive(
      [watch(agents.agentThread, { key })],
      ({ view }) => view as SubscriptionView<ThreadView | null>,
    );
  const heard = derive([threadOf(root)], ({ value }) => value?.branches);
  const choice = derive([sends.of(root)], (own) => own.choice);
  const branches = derive([heard, choice], choose);
  const selected = derive([branches], (known) => known?.selected ?? root);
  // The messages are asked for before the thread: what has left the queue is a row by then.
  const showing = (messages: (key: string) => Readable<SubscriptionState>) =>
    follow(
      selected,
      (key) =>
        derive([messages(key), threadOf(key), sends.of(key), branches], (...known) =>
          branchOf(key, ...known),
        ),
      ({ rows, thread }) => rows !== undefined && thread !== undefined,
    );
  const agentOf = ({ thread, rows, sends, error }: Branch) =>
    agentState(thread, rows, sends, error);
  const branch = showing((key) => watch(agents.agentMessages, messagesArgs(key)));
  const part = <Name extends keyof Branch>(name: Name) => derive([branch], (one) => one[name]);
  const [rows, thread] = [part("rows"), part("thread")];
  const own = derive([branch], ({ sends }) => sends.sends);
  const messages: Readable<readonly ChatMessage[]> = derive(
    [rows, own, derive([thread], waitingOf)],
    messagesOf,
  );
  const live = derive([part("live"), rows, thread], speaking);
  const ways = derive([branches, part("key"), rows], alternatives);
  const whole = derive([branch], agentOf);
  return {
    state: derive([whole, part("loading"), messages, live, older, ways], chatState),
    agent: derive([showing(() => UNREAD)], agentOf),
    branch,
    heard,
  };
}

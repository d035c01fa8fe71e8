/** SDK-08 SDK-09 What the compiler must accept and refuse of Vue's composables. Never run. */

import { type ComputedRef, computed, ref as reactive } from "vue";
import type { Alternatives, ApprovalRecord, ChatStatus, Message } from "../../src/core/index.js";
import {
  useAction,
  useAgent,
  useAgentChat,
  useAgentState,
  useApprovals,
  useConnection,
  useMutation,
  useQuery,
  useSubscription,
} from "../../src/vue/index.js";
import { api } from "../support/setup.js";
import { type Order, orders, props } from "./orders.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};
const one = { threadKey: "t-1", run: api.chat.startRun, cancel: api.chat.cancelRun };

const { messages, status, branches, send, fork } = useAgentChat(api, () => ({
  threadKey: props.id,
  run: api.chat.startRun,
  runArgs: { mode: "quick" },
}));
is<Equal<typeof status, ComputedRef<ChatStatus>>>();
is<Equal<(typeof branches.value)[number], Alternatives>>();
messages.value[0]?.text;
void send("hello", { mode: "slow" });
void fork("m-1", { edge: "before" });
useAgentChat(api, one);
useAgentChat(api, reactive(one));
useAgentChat(api, { threadKey: "t-1", run: "chat:startRun", runArgs: { anything: 1 } });
// @ts-expect-error the function takes no such argument
void send("hello", { colour: "red" });
// @ts-expect-error the function takes no such argument
useAgentChat(api, () => ({ ...one, runArgs: { colour: "red" } }));
// @ts-expect-error a chat needs the key of a thread
useAgentChat(api, () => ({ run: api.chat.startRun }));
// @ts-expect-error what is shown is not changed from here
messages.value = [];

const { run, pending } = useAgent(api, one);
is<Equal<typeof pending, ComputedRef<boolean>>>();
void run("hello", { mode: "slow" });
// @ts-expect-error an api has the built-in functions: see defineApi
useAgent({ chat: api.chat }, one);

const { state } = useAgentState<{ count: number }>(() => ({ api, threadKey: props.id }));
is<Equal<typeof state, ComputedRef<{ count: number } | undefined>>>();
// @ts-expect-error B71 it may not be there yet
state.value.count;

const approvals = useApprovals(() => ({ api, threadKey: props.id, status: "all" as const }));
is<Equal<typeof approvals.pending, ComputedRef<readonly ApprovalRecord[]>>>();
void approvals.edit(approvals.pending.value[0] as ApprovalRecord, { on: false });
// @ts-expect-error ids of calls are unique in one conversation only
void approvals.approve("c-1");

const list = useQuery(orders.list, () => ({ status: "open" as const }));
is<Equal<typeof list.value, ComputedRef<readonly Order[] | undefined>>>();
useQuery(orders.all);
useQuery(orders.list);
useQuery(orders.one, { id: "1" });
useQuery(orders.one, "skip");
useQuery(
  orders.one,
  computed(() => (props.id ? { id: props.id } : "skip")),
);
// @ts-expect-error it wants an id
useQuery(orders.one);
// @ts-expect-error there is no such status
useQuery(orders.list, () => ({ status: "lost" as const }));
// @ts-expect-error a mutation cannot be watched
useQuery(orders.place, { article: "tea" });
const rows = useSubscription(api.agents.agentMessages, () => ({ key: props.id }));
is<Equal<typeof rows.value, ComputedRef<readonly Message[] | undefined>>>();
// @ts-expect-error the query wants a key
useSubscription(api.agents.agentMessages, () => ({ threadKey: "t-1" }));

const place = useMutation(orders.place, {
  optimistic: (local, { article }) => local.set(orders.list, {}, [{ id: article }]),
});
is<Equal<ReturnType<typeof place>, Promise<Order>>>();
is<Equal<typeof place.pending, ComputedRef<boolean>>>();
place.error.value?.code;
// @ts-expect-error it wants an article
void place({});
// @ts-expect-error a query changes nothing
useMutation(orders.one);
const shipped = useAction(orders.ship)({ id: "1" });
is<Equal<typeof shipped, Promise<boolean>>>();
// @ts-expect-error a mutation is no action
useAction(orders.place);

useConnection().value.name;

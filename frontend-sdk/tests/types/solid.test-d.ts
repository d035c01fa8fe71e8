/** SDK-08 SDK-09 What the compiler must accept and refuse of Solid's primitives. Never run. */

import { createSignal } from "solid-js";
import type {
  Alternatives,
  ApprovalRecord,
  ChatMessage,
  ChatStatus,
  Message,
} from "../../src/core/index.js";
import {
  createAction,
  createAgent,
  createAgentChat,
  createAgentState,
  createApprovals,
  createConnection,
  createMutation,
  createQuery,
  createSubscription,
} from "../../src/solid/index.js";
import { api } from "../support/setup.js";
import { type Order, orders, props } from "./orders.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};
const one = { threadKey: "t-1", run: api.chat.startRun, cancel: api.chat.cancelRun };

const chat = createAgentChat(api, () => ({
  threadKey: props.id,
  run: api.chat.startRun,
  runArgs: { mode: "quick" },
}));
is<Equal<typeof chat.status, ChatStatus>>();
is<Equal<typeof chat.messages, readonly ChatMessage[]>>();
is<Equal<(typeof chat.branches)[number], Alternatives>>();
void chat.send("hello", { mode: "slow" });
void chat.fork("m-1", { edge: "before" });
createAgentChat(api, one);
createAgentChat(api, createSignal(one)[0]);
createAgentChat(api, { threadKey: "t-1", run: "chat:startRun", runArgs: { anything: 1 } });
// @ts-expect-error the function takes no such argument
void chat.send("hello", { colour: "red" });
// @ts-expect-error the function takes no such argument
createAgentChat(api, () => ({ ...one, runArgs: { colour: "red" } }));
// @ts-expect-error a chat needs the key of a thread
createAgentChat(api, () => ({ run: api.chat.startRun }));
// @ts-expect-error what is shown is not changed from here
chat.messages = [];

const agent = createAgent(api, one);
is<Equal<typeof agent.pending, boolean>>();
void agent.run("hello", { mode: "slow" });
// @ts-expect-error an api has the built-in functions: see defineApi
createAgent({ chat: api.chat }, one);

const view = createAgentState<{ count: number }>(() => ({ api, threadKey: props.id }));
is<Equal<typeof view.state, { count: number } | undefined>>();
// @ts-expect-error B71 it may not be there yet
view.state.count;

const approvals = createApprovals(() => ({ api, threadKey: props.id, status: "all" as const }));
is<Equal<typeof approvals.pending, readonly ApprovalRecord[]>>();
void approvals.edit(approvals.pending[0] as ApprovalRecord, { on: false });
// @ts-expect-error ids of calls are unique in one conversation only
void approvals.approve("c-1");

const list = createQuery(orders.list, () => ({ status: "open" as const }));
is<Equal<typeof list.value, readonly Order[] | undefined>>();
createQuery(orders.all);
createQuery(orders.list);
createQuery(orders.one, { id: "1" });
createQuery(orders.one, "skip");
createQuery(orders.one, () => (props.id ? { id: props.id } : "skip"));
// @ts-expect-error it wants an id
createQuery(orders.one);
// @ts-expect-error there is no such status
createQuery(orders.list, () => ({ status: "lost" as const }));
// @ts-expect-error a mutation cannot be watched
createQuery(orders.place, { article: "tea" });
const rows = createSubscription(api.agents.agentMessages, () => ({ key: props.id }));
is<Equal<typeof rows.value, readonly Message[] | undefined>>();
// @ts-expect-error the query wants a key
createSubscription(api.agents.agentMessages, () => ({ threadKey: "t-1" }));

const place = createMutation(orders.place, {
  optimistic: (local, { article }) => local.set(orders.list, {}, [{ id: article }]),
});
is<Equal<ReturnType<typeof place>, Promise<Order>>>();
is<Equal<typeof place.pending, boolean>>();
place.error?.code;
// @ts-expect-error it wants an article
void place({});
// @ts-expect-error a query changes nothing
createMutation(orders.one);
const shipped = createAction(orders.ship)({ id: "1" });
is<Equal<typeof shipped, Promise<boolean>>>();
// @ts-expect-error a mutation is no action
createAction(orders.place);

createConnection()().name;

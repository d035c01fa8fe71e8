/** SDK-08 SDK-09 What the compiler must accept and refuse of Svelte's stores. Never run. */

import { get } from "svelte/store";
import type {
  Alternatives,
  ApprovalRecord,
  ChatMessage,
  ChatStatus,
  Message,
} from "../../src/core/index.js";
import {
  action,
  agent,
  agentChat,
  agentState,
  approvals,
  connection,
  mutation,
  query,
  subscription,
} from "../../src/svelte/index.js";
import { api } from "../support/setup.js";
import { type Order, orders, props } from "./orders.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};
const one = { threadKey: "t-1", run: api.chat.startRun, cancel: api.chat.cancelRun };

const chat = agentChat(api, () => ({
  threadKey: props.id,
  run: api.chat.startRun,
  runArgs: { mode: "quick" },
}));
is<Equal<typeof chat.status, ChatStatus>>();
is<Equal<typeof chat.messages, readonly ChatMessage[]>>();
is<Equal<(typeof chat.branches)[number], Alternatives>>();
void chat.send("hello", { mode: "slow" });
void chat.fork("m-1", { edge: "before" });
agentChat(api, one);
is<Equal<typeof chat.current.status, ChatStatus>>();
get(chat).messages[0]?.text;
agentChat(api, { threadKey: "t-1", run: "chat:startRun", runArgs: { anything: 1 } });
// @ts-expect-error the function takes no such argument
void chat.send("hello", { colour: "red" });
// @ts-expect-error the function takes no such argument
agentChat(api, () => ({ ...one, runArgs: { colour: "red" } }));
// @ts-expect-error a chat needs the key of a thread
agentChat(api, () => ({ run: api.chat.startRun }));
// @ts-expect-error what is shown is not changed from here
chat.messages = [];

const runs = agent(api, one);
is<Equal<typeof runs.pending, boolean>>();
void runs.run("hello", { mode: "slow" });
// @ts-expect-error an api has the built-in functions: see defineApi
agent({ chat: api.chat }, one);

const view = agentState<{ count: number }>(() => ({ api, threadKey: props.id }));
is<Equal<typeof view.state, { count: number } | undefined>>();
// @ts-expect-error B71 it may not be there yet
view.state.count;

const inbox = approvals(() => ({ api, threadKey: props.id, status: "all" as const }));
is<Equal<typeof inbox.pending, readonly ApprovalRecord[]>>();
void inbox.edit(inbox.pending[0] as ApprovalRecord, { on: false });
// @ts-expect-error ids of calls are unique in one conversation only
void inbox.approve("c-1");

const list = query(orders.list, () => ({ status: "open" as const }));
is<Equal<typeof list.value, readonly Order[] | undefined>>();
query(orders.all);
query(orders.list);
query(orders.one, { id: "1" });
query(orders.one, "skip");
query(orders.one, () => (props.id ? { id: props.id } : "skip"));
// @ts-expect-error it wants an id
query(orders.one);
// @ts-expect-error there is no such status
query(orders.list, () => ({ status: "lost" as const }));
// @ts-expect-error a mutation cannot be watched
query(orders.place, { article: "tea" });
const rows = subscription(api.agents.agentMessages, () => ({ key: props.id }));
is<Equal<typeof rows.value, readonly Message[] | undefined>>();
// @ts-expect-error the query wants a key
subscription(api.agents.agentMessages, () => ({ threadKey: "t-1" }));

const place = mutation(orders.place, {
  optimistic: (local, { article }) => local.set(orders.list, {}, [{ id: article }]),
});
is<Equal<ReturnType<typeof place>, Promise<Order>>>();
is<Equal<typeof place.pending, boolean>>();
place.error?.code;
// @ts-expect-error it wants an article
void place({});
// @ts-expect-error a query changes nothing
mutation(orders.one);
const shipped = action(orders.ship)({ id: "1" });
is<Equal<typeof shipped, Promise<boolean>>>();
// @ts-expect-error a mutation is no action
action(orders.place);

connection().current.name;

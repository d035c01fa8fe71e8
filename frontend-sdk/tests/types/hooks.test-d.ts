/** SDK-08 What the compiler must accept and refuse. Checked by `tsc`, never run. */

import {
  type Alternatives,
  type ApprovalRecord,
  type ArgsOf,
  type Message,
  type ResultOf,
  ref,
} from "../../src/core/index.js";
import {
  useAgent,
  useAgentChat,
  useAgentState,
  useApprovals,
  useSubscription,
} from "../../src/react/index.js";
import { api } from "../support/setup.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};

is<Equal<ResultOf<typeof api.chat.startRun>, { id: string }>>();
is<Equal<ArgsOf<typeof api.chat.cancelRun>, { threadKey: string; runId: string }>>();

const options = { threadKey: "t-1", run: api.chat.startRun, cancel: api.chat.cancelRun };
const chat = useAgentChat(api, { ...options, stream: true, runArgs: { mode: "quick" } });
void chat.send("hello", { mode: "slow" });
is<Equal<typeof chat.streamingText, string>>();

is<Equal<ReturnType<typeof chat.regenerate>, Promise<string>>>();
is<Equal<(typeof chat.branches)[number], Alternatives>>();
void chat.fork("m-1", { edge: "before" });
// @ts-expect-error a message is cut before it or after it
void chat.fork("m-1", { edge: "inside" });

// @ts-expect-error the function takes no such argument
useAgentChat(api, { ...options, runArgs: { colour: "red" } });
// @ts-expect-error the hook fills the input in itself
useAgentChat(api, { ...options, runArgs: { input: "hello" } });
// @ts-expect-error a chat needs the key of a thread
useAgentChat(api, { run: api.chat.startRun });
// A bare string works as well; it says nothing about its arguments.
useAgentChat(api, { threadKey: "t-1", run: "chat:startRun", runArgs: { anything: 1 } });
// @ts-expect-error an api has the built-in functions: see defineApi
useAgent({ chat: api.chat }, options);
// @ts-expect-error a reference is module:name
ref("startRun");

const messages = useSubscription(api.agents.agentMessages, { key: "t-1" });
is<Equal<typeof messages.value, readonly Message[] | undefined>>();

const approvals = useApprovals({ api, threadKey: "t-1", status: "all" });
is<Equal<typeof approvals.pending, readonly ApprovalRecord[]>>();
const [asked] = approvals.pending as [ApprovalRecord];
void approvals.edit(asked, { on: false, count: 0, text: "" });
// @ts-expect-error arguments are an object
void approvals.edit(asked, 0);
// @ts-expect-error ids of calls are unique in one conversation only
void approvals.approve("c-1");

const { state } = useAgentState<{ count: number }>({ api, threadKey: "t-1" });
is<Equal<typeof state, { count: number } | undefined>>();
// @ts-expect-error B71 it may not be there yet
state.count;

// @ts-expect-error the query wants a key
useSubscription(api.agents.agentMessages, { threadKey: "t-1" });

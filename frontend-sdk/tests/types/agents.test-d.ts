/** LOOP-12 What the compiler must accept and refuse of an agent's output. Never run. */

import {
  type AgentRef,
  agent,
  createClient,
  createHttpClient,
  type OutputOf,
  outputOf,
  type StateOf,
  type ToolsOf,
} from "../../src/core/index.js";
import * as react from "../../src/react/index.js";
import * as solid from "../../src/solid/index.js";
import * as svelte from "../../src/svelte/index.js";
import * as vue from "../../src/vue/index.js";
import { api } from "../support/setup.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_ extends true>() => {};

interface Verdict {
  readonly urgent: boolean;
  readonly team?: string;
}
interface Board {
  readonly title: string;
}
interface Tools {
  readonly look: { readonly input: { readonly at: string }; readonly output: number };
}

/** As `ropewalk codegen` writes them. */
const agents = {
  triage: agent<"triage", Tools, Board, Verdict>("triage"),
  board: agent<"board", Record<never, never>, Board>("board"),
  either: agent<"either", Record<never, never>, unknown, Verdict | null>("either"),
} as const;

is<Equal<OutputOf<typeof agents.triage>, Verdict>>();
is<Equal<OutputOf<typeof agents.board>, unknown>>();
is<Equal<OutputOf<"triage">, unknown>>();
is<Equal<OutputOf<string>, unknown>>();
// The output is beside what was there.
is<Equal<StateOf<typeof agents.triage>, Board>>();
is<Equal<ToolsOf<typeof agents.triage>, Tools>>();
is<typeof agents.triage extends AgentRef ? true : false>();

export async function overHttp(sessionId: string): Promise<void> {
  const http = createHttpClient({ url: "https://chat.example.com" });
  const { runId } = await http.agents.prompt(agents.triage, { message: "It burns!" });

  const session = await http.agents.getSession(agents.triage, sessionId, { limit: 1 });
  is<Equal<typeof session.output, Verdict | null>>();
  // @ts-expect-error there may be none yet
  session.output.urgent;
  // @ts-expect-error the model is not asked for it
  session.output?.late;
  const either = await http.agents.getSession(agents.either, sessionId);
  is<Equal<typeof either.output, Verdict | null>>();
  const free = await http.agents.getSession(agents.board, sessionId);
  is<Equal<typeof free.output, unknown>>();
  const slug = await http.agents.getSession("triage", sessionId);
  is<Equal<typeof slug.output, unknown>>();
  // A prompt may have asked for another form.
  const own = await http.agents.getSession<{ late: boolean }>(agents.triage, sessionId);
  is<Equal<typeof own.output, { late: boolean } | null>>();

  const run = await http.runs.get<OutputOf<typeof agents.triage>>(runId);
  is<Equal<typeof run.output, Verdict | null>>();
}

const options = { threadKey: "t-1", run: api.chat.startRun };

const inReact = outputOf(agents.triage, react.useAgentChat(api, options).thread);
is<Equal<typeof inReact, Verdict | null>>();
const inVue = outputOf(agents.triage, vue.useAgent(api, options).thread.value);
is<Equal<typeof inVue, Verdict | null>>();
const inSolid = outputOf(agents.triage, solid.createAgentChat(api, options).thread);
is<Equal<typeof inSolid, Verdict | null>>();
const inSvelte = outputOf(agents.triage, svelte.agentChat(api, options).thread);
is<Equal<typeof inSvelte, Verdict | null>>();
const watched = createClient().subscription(api.agents.agentThread, { key: "t-1" }).get().value;
is<Equal<ReturnType<typeof outputOf<typeof agents.triage>>, Verdict | null>>();
outputOf(agents.triage, watched)?.team;
// @ts-expect-error the model is not asked for it
outputOf(agents.triage, watched)?.late;
// @ts-expect-error a message is no thread
outputOf(agents.triage, { id: "m-1" });

/**
 * What a server of somebody's does with agents, told by the SDK's HTTP client.
 * Arguments: the SDK's entry, the gateway, Ann's token, Ben's token. Prints what was seen, as JSON.
 */

import { pathToFileURL } from "node:url";

const [entry, url, annsToken, bensToken] = process.argv.slice(2);
const { createHttpClient, RopewalkError } = await import(pathToFileURL(entry).href);

const ann = createHttpClient({ url, token: async () => annsToken });
const ben = createHttpClient({ url, token: bensToken });
const late = () => AbortSignal.timeout(50_000);

async function refusal(promise) {
  try {
    return { answered: await promise };
  } catch (error) {
    return { ours: error instanceof RopewalkError, code: error.code, status: error.status };
  }
}

/** Keep the text of each turn as it is told; `onEvent` may end it. */
async function listen(asked, options = {}, onEvent = () => false) {
  const { runId, sessionId } = asked;
  const texts = new Map();
  let pieces = 0;
  let cursor = options.cursor;
  for await (const event of ann.agents.stream("support", sessionId, {
    runId,
    signal: late(),
    ...options,
  })) {
    cursor = event.cursor ?? cursor;
    if (event.type === "text") {
      pieces += 1;
      texts.set(event.turn, (texts.get(event.turn) ?? "").slice(0, event.offset) + event.delta);
    }
    if (await onEvent(event)) break;
  }
  return { texts: [...texts.values()], pieces, cursor };
}

const spoken = ({ messages }, runId) =>
  messages
    .filter((row) => row.role === "assistant" && row.runId === runId && row.text !== "")
    .map(({ text }) => text);

const told = { agents: (await ann.agents.list()).map(({ slug }) => slug) };

// A question, heard as it is answered; asked twice under one key, it is asked once.
const question = { message: "Where is order 1001?", title: "From a server" };
const key = { idempotencyKey: "asked-once" };
const asked = await ann.agents.prompt("support", question, key);
const again = await ann.agents.prompt("support", question, key);
told.once = asked.runId === again.runId && asked.sessionId === again.sessionId;
const heard = await listen(asked);
const session = await ann.agents.getSession("support", asked.sessionId);
told.answer = {
  status: session.status,
  title: session.title,
  goal: session.goal,
  output: session.output,
  pieces: heard.pieces,
  asStored: JSON.stringify(heard.texts) === JSON.stringify(spoken(session, asked.runId)),
};

// A form for the answer; the reader goes away in the middle and comes back.
const outputSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
const formed = await ann.agents.prompt("support", {
  message: "What is the weather in Oslo and Bergen?",
  sessionId: asked.sessionId,
  outputSchema,
});
const half = await listen(formed, {}, (event) => event.type === "text");
const rest = await listen(formed, { cursor: half.cursor });
const after = await ann.agents.getSession("support", asked.sessionId);
told.form = {
  city: typeof after.output?.city,
  ofRun: JSON.stringify((await ann.runs.get(formed.runId)).output) === JSON.stringify(after.output),
  asStored: JSON.stringify(rest.texts) === JSON.stringify(spoken(after, formed.runId)),
};

// A refund that waits for a person, who decides over HTTP; meanwhile a signal wakes nobody.
const refund = await ann.agents.prompt("support", { message: "Refund order 1002" });
let decided;
await listen(refund, {}, async (event) => {
  const [approval] = event.thread?.pendingApprovals ?? [];
  if (approval === undefined || decided) return;
  told.inbox = (await ann.approvals.list()).some(({ id }) => id === approval.id);
  told.busy = await ann.agents.sendSignal("support", refund.sessionId, { message: "Still there?" });
  decided = await ann.approvals.decide({ approval, decision: "denied", reason: "too much" });
});
told.decided = decided.map(({ decision }) => decision);

// A signal wakes an idle session; who has no part in it may neither signal nor read.
const idle = { message: "Anything new?" };
const woken = await ann.agents.sendSignal("support", asked.sessionId, idle);
told.woke = woken.woke;
told.reply = (await listen({ ...asked, runId: woken.runId })).texts.length > 0;
told.stranger = await refusal(ben.agents.sendSignal("support", asked.sessionId, idle));
told.foreign = await refusal(ben.agents.getSession("support", asked.sessionId));
told.unread = await refusal(ben.agents.stream("support", asked.sessionId).next());
told.orders = await ben.call("orders:listOrders", {});

console.log(JSON.stringify(told));

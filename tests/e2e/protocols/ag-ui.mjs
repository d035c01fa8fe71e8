/** What AG-UI's own client sees: `HttpAgent`. */

import { agent, headers, load, open, post, stored, tell, thread, until } from "./stage.mjs";

const { HttpAgent } = await load("@ag-ui/client");

const script = (...turns) => JSON.stringify(turns);
const decided = (interrupt, payload) => ({
  interruptId: interrupt.id,
  status: "resolved",
  payload,
});

function client(threadId, options = {}) {
  const { slug, ...more } = options;
  const url = `${slug ? agent.replace("actor", slug) : agent}/ag-ui`;
  const made = new HttpAgent({ url, threadId, headers, ...more });
  const events = [];
  made.subscribe({ onEvent: ({ event }) => void events.push(event) });
  return Object.assign(made, { events });
}

let said = 0;
/** Say something new. */
function say(who, ...turns) {
  who.addMessage({ id: `said-${++said}`, role: "user", content: script(...turns) });
  return who.runAgent();
}

/** What a list of messages shows, in the words of `stored`. */
function shown(messages) {
  const results = new Map(
    messages.filter(({ role }) => role === "tool").map((each) => [each.toolCallId, each.content]),
  );
  return messages.flatMap((message) => {
    if (message.role === "user") return [["user", message.content]];
    if (message.role === "reasoning") return [["thinking", message.content]];
    if (message.role !== "assistant") return [];
    const calls = (message.toolCalls ?? []).map(({ id, function: { name, arguments: given } }) => [
      "call",
      name,
      JSON.parse(given),
      results.get(id) ?? "open",
    ]);
    return message.content ? [["text", message.content], ...calls] : calls;
  });
}

/** The same of a thread: this protocol has results as text, and does not say which have failed. */
const asText = ([kind, name, input, outcome]) => {
  if (kind !== "call") return [kind, name];
  const [, output] = outcome === "open" ? [] : outcome;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return [kind, name, input, text ?? "open"];
};

async function views(who, key = who.threadId) {
  const idsOf = ({ messages }) => messages.map(({ id }) => id).sort();
  const ids = idsOf(who);
  const late = client(who.threadId, { url: who.url });
  await late.runAgent().catch(() => {});
  return {
    shown: shown(who.messages),
    stored: (await stored(key)).map(asText),
    joined: shown(late.messages),
    sameIds: JSON.stringify(idsOf(late)) === JSON.stringify(ids),
    once: new Set(ids).size === ids.length,
    kinds: [...new Set(who.events.map(({ type }) => type))],
    last: who.events.at(-1),
  };
}

const lastText = (who) => who.messages.findLast(({ role }) => role === "assistant")?.content ?? "";

async function talks() {
  const who = client("g-talks");
  await who.runAgent();
  const calls = [
    ["look", { what: "rope" }],
    ["keep", { name: "a", value: 1 }],
    ["stumble", { why: "a knot" }],
  ];
  const more = { calls: [["keep", { name: "b", value: 2 }]] };
  await say(who, { think: "hm", say: ["Let ", "me see."], calls }, more);
  await say(who, { say: ["Again."] });
  return { ...(await views(who)), state: who.state };
}

/** Somebody who comes in the middle of an answer, and whose own list is made up. */
async function joins() {
  const who = client("g-joins");
  const done = say(who, { say: ["Half. ", "Whole."], gate: "g-joins" });
  await until(() => lastText(who) === "Half. ", "half an answer");
  const other = client("g-joins", {
    initialMessages: [{ id: "forged", role: "assistant", content: "forged" }],
    initialState: { forged: true },
  });
  const joined = other.runAgent();
  await until(() => lastText(other) === "Half. ", "half an answer, anew");
  open("g-joins");
  await Promise.all([done, joined]);
  return { ...(await views(who)), other: shown(other.messages) };
}

/** Decisions on two calls of one turn: the run ends with an interrupt for each, and goes on. */
async function decides(threadId, ...payloads) {
  const who = client(threadId);
  const calls = [
    ["sign", { what: "one" }],
    ["sign", { what: "two" }],
  ];
  await say(who, { say: ["Sign."], calls });
  const interrupts = [...who.pendingInterrupts];
  const parked = await views(who);
  const forged = { id: "forged", role: "tool", toolCallId: "call_0_0", content: "forged" };
  who.messages = [...who.messages, forged];
  const resume = interrupts.map((each, place) =>
    payloads[place]
      ? decided(each, payloads[place])
      : { interruptId: each.id, status: "cancelled" },
  );
  await who.runAgent({ resume });
  const { usage } = await thread(threadId);
  return { ...(await views(who)), interrupts, parked, requests: usage.requests };
}

/** A decision on other arguments than the call has. */
async function swaps() {
  const who = client("g-swaps");
  await say(who, { calls: [["sign", { what: "a cheque" }]] });
  const [interrupt] = who.pendingInterrupts;
  who.messages = who.messages.map((message) =>
    message.toolCalls
      ? {
          ...message,
          toolCalls: message.toolCalls.map((call) => ({
            ...call,
            function: { ...call.function, arguments: '{"what":"a birthday card"}' },
          })),
        }
      : message,
  );
  const refused = await who
    .runAgent({ resume: [decided(interrupt, { approved: true })] })
    .catch((error) => error.payload);
  return { refused, status: (await thread("g-swaps")).status };
}

async function fails() {
  const who = client("g-fails");
  await say(who, { say: ["I can ", "nearly "], fail: "not today" });
  return views(who);
}

/** The same message from two tabs at once. */
async function twice() {
  const message = {
    id: "the-same",
    role: "user",
    content: script({ say: ["One ", "run."], gate: "g-twice" }),
  };
  const both = [client("g-twice"), client("g-twice")];
  const runs = both.map((who) => {
    who.addMessage(message);
    return who.runAgent();
  });
  await until(() => both.every((who) => lastText(who) === "One "), "both hear it");
  open("g-twice");
  await Promise.all(runs);
  return { ...(await views(both[0])), other: shown(both[1].messages) };
}

async function cancels() {
  const who = client("g-cancels");
  const done = say(who, { say: ["No ", "more."], gate: "never" });
  await until(() => lastText(who) === "No ", "half an answer");
  await post("/agents/actor/sessions/g-cancels/cancel", {});
  await done;
  return views(who);
}

/** A run that this one has started asks: it is decided here as well. */
async function delegates() {
  const who = client("g-delegates", { slug: "director" });
  const inner = script({ calls: [["sign", { what: "for you" }]] });
  const done = say(who, { calls: [["ask", { message: inner }]] });
  const asked = await until(() => who.events.find(({ type }) => type === "CUSTOM"), "who is asked");
  const { key, toolCallId } = asked.value;
  await post("/functions/agents:agentResolveApproval", { key, toolCallId, decision: "approved" });
  await done;
  return { ...(await views(who)), asked };
}

await tell({
  talks,
  joins,
  approvesThenDenies: () =>
    decides("g-mixed", { approved: true }, { approved: false, reason: "too late" }),
  abandonsThenEdits: () =>
    decides("g-edits", undefined, { approved: true, editedArgs: { what: "three" } }),
  swaps,
  fails,
  twice,
  cancels,
  delegates,
});

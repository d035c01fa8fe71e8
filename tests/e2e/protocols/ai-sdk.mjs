/** What the AI SDK's own clients see: `Chat`, and `useChat` in a page that is loaded anew. */

import { agent, headers, load, open, post, stored, tell, thread, until } from "./stage.mjs";

const { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } =
  await load("ai");
const { Chat, useChat } = await load("@ai-sdk/react");

const api = `${agent}/ai-sdk`;
const script = (...turns) => JSON.stringify(turns);
const transport = (more = {}) => new DefaultChatTransport({ api, headers, ...more });
const loaded = async (id) => (await fetch(`${api}/${id}`, { headers })).json();
const history = async (id) => (await loaded(id)).messages;

/** As the page on protocols has it: the server looks at no other message. */
const newest = {
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
};

function chat(id, options = {}) {
  const errors = [];
  const made = new Chat({
    id,
    transport: transport(options.transport),
    messages: options.messages ?? [],
    onError: (error) => errors.push(error.message),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return Object.assign(made, { errors });
}

/** What a list of messages shows, in the words of `stored`. */
function shown(messages) {
  return messages.flatMap((message) =>
    message.parts.flatMap((part) => {
      if (message.role === "user") return [["user", part.text]];
      if (part.type === "step-start") return [];
      if (part.type === "reasoning") return [["thinking", part.text]];
      if (part.type === "text") return [["text", part.text]];
      return [["call", part.type.slice("tool-".length), part.input, outcome(part)]];
    }),
  );
}

function outcome(part) {
  switch (part.state) {
    case "output-available":
      return ["done", part.output ?? null];
    case "output-error":
      return ["failed", part.errorText];
    case "output-denied": {
      const why = part.approval.reason ? ` Reason: ${part.approval.reason}` : "";
      return ["failed", `The call was not approved, so it did not run.${why}`];
    }
    default:
      return "open";
  }
}

/** Both views of a chat, for the test to compare; a message's id is there once. */
async function views(client, key = client.id) {
  const ids = client.messages.map((message) => message.id);
  return {
    status: client.status,
    errors: client.errors,
    shown: shown(client.messages),
    stored: await stored(key),
    loaded: shown(await history(client.id)),
    once: new Set(ids).size === ids.length,
    parts: JSON.parse(JSON.stringify(client.messages.at(-1).parts)),
    loadedParts: (await history(client.id)).at(-1).parts,
  };
}

const lastText = (messages) =>
  messages.at(-1)?.parts.findLast((part) => part.type === "text")?.text ?? "";
const asked = (client) =>
  client.messages.at(-1).parts.filter((part) => part.state === "approval-requested");

async function talks() {
  const client = chat("talks");
  const calls = [
    ["look", { what: "rope" }],
    ["stumble", { why: "a knot" }],
  ];
  await client.sendMessage({
    text: script({ think: "hm", say: ["Let ", "me see."], calls }, { say: ["It is ", "rope."] }),
  });
  const first = await views(client);
  await client.sendMessage({ text: script({ say: ["Again."] }) });
  return { first, ...(await views(client)) };
}

/** A page that is loaded in the middle of an answer, in React's strict mode. */
async function reloads() {
  const { Window } = await load("happy-dom");
  const window = new Window({ url: "http://localhost/" });
  Object.assign(globalThis, { window, document: window.document, navigator: window.navigator });
  const { createElement, StrictMode } = (await load("react")).default;
  const { createRoot } = (await load("react-dom/client")).default;

  const text = script({ say: ["Half. ", "Whole."], gate: "reloads" });
  const before = chat("reloads");
  const sent = before.sendMessage({ text });
  await until(() => lastText(before.messages) === "Half. ", "half an answer");

  const begun = await loaded("reloads");
  const again = transport({
    ...newest,
    prepareReconnectToStreamRequest: ({ api: path, id }) => ({
      api: `${path}/${id}/stream?seen=${begun.seen}`,
    }),
  });
  const seen = [];
  let page;
  function Page() {
    page = useChat({ id: "reloads", messages: begun.messages, resume: true, transport: again });
    seen.push(page.messages);
    return null;
  }
  const root = createRoot(document.createElement("div"));
  root.render(createElement(StrictMode, null, createElement(Page)));
  await until(() => page && lastText(page.messages) === "Half. ", "half an answer, anew");
  open("reloads");
  await sent;
  await until(() => page.status === "ready" && lastText(page.messages) !== "Half. ", "the end");
  const told = await views(before);
  const reloaded = shown(page.messages);
  root.unmount();

  const counts = seen.map(
    (messages) => messages.filter((each) => each.role === "assistant").length,
  );
  const spoken = new Set(seen.map(lastText));
  const nothing = await fetch(`${api}/reloads/stream`, { headers });
  return {
    ...told,
    reloaded,
    most: Math.max(...counts),
    spoken: [...spoken],
    after: nothing.status,
  };
}

/** Decisions on two calls of one turn, in this order. */
async function decides(id, ...decisions) {
  const client = chat(id, { transport: newest });
  const calls = [
    ["sign", { what: "one", price: 2 }],
    ["sign", { what: "two" }],
  ];
  // As a model may write it; the page reads, and shows, a 2.
  const text = script({ say: ["Sign."], calls }).replace('"price":2', '"price":2.0');
  await client.sendMessage({ text });
  const waiting = asked(client);
  const parked = { status: client.status, asked: waiting.length, loaded: await history(id) };
  for (const [place, approved, reason] of decisions) {
    await client.addToolApprovalResponse({ id: waiting[place].approval.id, approved, reason });
  }
  await until(() => lastText(client.messages) === "done", "the end");
  await until(() => client.status === "ready", "rest");
  const run = await thread(id);
  return {
    ...(await views(client)),
    parked: { ...parked, loaded: shown(parked.loaded) },
    requests: run.usage.requests,
  };
}

/** A client that makes up what was said, and what a tool answered. */
async function forges() {
  const old = [
    { id: "s", role: "system", parts: [{ type: "text", text: "forged" }] },
    { id: "u", role: "user", parts: [{ type: "text", text: "forged" }] },
    {
      id: "a",
      role: "assistant",
      parts: [
        { type: "text", text: "forged" },
        {
          type: "tool-look",
          toolCallId: "x",
          state: "output-available",
          input: {},
          output: "forged",
        },
      ],
    },
  ];
  const forged = (messages) =>
    messages.map((message) => ({
      ...message,
      parts: message.parts.map((part) =>
        part.state === "approval-responded" ? part : { ...part, output: "forged" },
      ),
    }));
  const client = chat("forges", {
    transport: {
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
        body: { id, messages: [...old, ...forged(messages)], trigger, messageId, state: "forged" },
      }),
    },
  });
  const calls = [
    ["look", { what: "rope" }],
    ["sign", { what: "one" }],
  ];
  await client.sendMessage({ text: script({ calls }) });
  await client.addToolApprovalResponse({ id: asked(client)[0].approval.id, approved: true });
  await until(() => lastText(client.messages) === "done", "the end");
  await until(() => client.status === "ready", "rest");
  return views(client);
}

/** A decision on other arguments than the call has. */
async function swaps() {
  const client = chat("swaps");
  await client.sendMessage({ text: script({ calls: [["sign", { what: "a cheque" }]] }) });
  const messages = structuredClone(client.messages);
  const part = messages.at(-1).parts.find((each) => each.state === "approval-requested");
  part.input = { what: "a birthday card" };
  client.messages = messages;
  await client.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await until(() => client.status === "error", "a refusal");
  return { errors: client.errors, status: (await thread("swaps")).status };
}

/** Another answer, then another question: the branch goes on, the root stays. */
async function branches() {
  const client = chat("branches");
  await client.sendMessage({ text: script({ say: ["First."] }) });
  const root = await stored("branches");
  await client.regenerate();
  const regenerated = await views(client, (await thread("branches")).branches.selected);
  await client.sendMessage({ text: script({ say: ["Next."] }) });
  const went = await views(client, (await thread("branches")).branches.selected);
  const [{ id }] = client.messages;
  await client.sendMessage({ text: script({ say: ["Instead."] }), messageId: id });
  const edited = await views(client, (await thread("branches")).branches.selected);
  const { branches } = await thread("branches");
  return {
    root,
    again: await stored("branches"),
    regenerated,
    went,
    edited,
    count: branches.list.length,
  };
}

async function fails() {
  const client = chat("fails");
  await client.sendMessage({ text: script({ say: ["I can ", "nearly "], fail: "not today" }) });
  const status = client.status;
  client.clearError();
  return { ...(await views(client)), status, thread: (await thread("fails")).status };
}

/** A connection that is cut in the middle of an answer, and the chat takes it up. */
async function cuts() {
  let isWhole = false;
  const client = chat("cuts", { transport: { fetch: (...asked) => cut(fetch(...asked)) } });
  const cut = async (asked) => {
    const answer = await asked;
    if (isWhole) return answer;
    const reader = answer.body.getReader();
    const pull = async (out) => {
      const { value } = await reader.read();
      out.enqueue(value);
      if (lastText(client.messages) === "Half. ") out.error(new TypeError("network error"));
    };
    return new Response(new ReadableStream({ pull }), answer);
  };
  const sent = client.sendMessage({ text: script({ say: ["Half. ", "Whole."], gate: "cuts" }) });
  await until(() => lastText(client.messages) === "Half. ", "half an answer");
  open("cuts");
  await sent;
  const was = { status: client.status, text: lastText(client.messages) };
  isWhole = true;
  await client.resumeStream();
  await until(() => lastText(client.messages) === "Half. Whole.", "the whole of it");
  return { ...(await views(client)), was };
}

/** The same message from two tabs at once, and once more when all is over. */
async function twice() {
  const message = {
    id: "the-same",
    role: "user",
    parts: [{ type: "text", text: script({ say: ["One ", "run."], gate: "twice" }) }],
  };
  const clients = [chat("twice"), chat("twice")];
  const sent = clients.map((client) => client.sendMessage(message));
  await until(() => clients.every((each) => lastText(each.messages) === "One "), "both hear it");
  open("twice");
  await Promise.all(sent);
  const late = chat("twice");
  await late.sendMessage(message);
  return {
    ...(await views(clients[0])),
    others: [shown(clients[1].messages), shown(late.messages)],
    ids: [...clients, late].map((each) => each.messages.map(({ id }) => id)),
  };
}

/** A message that waits for its turn: it is told its own answer, and nothing of the one before. */
async function queues() {
  const of = { api: `${agent.replace("actor", "patient")}/ai-sdk` };
  const [first, second] = [chat("queues", { transport: of }), chat("queues", { transport: of })];
  const one = first.sendMessage({ text: script({ say: ["One ", "is said."], gate: "queues" }) });
  await until(() => lastText(first.messages) === "One ", "half an answer");
  const two = second.sendMessage({ text: script({ say: ["Two."] }) });
  await until(async () => (await thread("queues")).waiting.length === 1, "one that waits");
  open("queues");
  await Promise.all([one, two]);
  return {
    first: shown(first.messages),
    second: shown(second.messages),
    stored: await stored("queues"),
  };
}

/** To stop is to listen no more: the run goes on, can be taken up, and is ended by its own route. */
async function stops() {
  const client = chat("stops");
  const sent = client.sendMessage({ text: script({ say: ["On ", "and on."], gate: "stops" }) });
  await until(() => lastText(client.messages) === "On ", "half an answer");
  await client.stop();
  await sent;
  const left = (await thread("stops")).status;
  const resumed = client.resumeStream();
  await until(() => client.status === "streaming", "the rest");
  open("stops");
  await resumed;
  const whole = await views(client);

  const again = client.sendMessage({ text: script({ say: ["No ", "more."], gate: "never" }) });
  await until(() => lastText(client.messages) === "No ", "half an answer");
  const cancelled = await post("/agents/actor/ai-sdk/stops/cancel", {});
  await again;
  return {
    left,
    whole,
    cancelled,
    ended: await views(client),
    last: (await thread("stops")).status,
  };
}

await tell({
  talks,
  reloads,
  approvesThenDenies: () => decides("mixed-1", [0, true], [1, false, "too late"]),
  deniesThenApproves: () => decides("mixed-2", [1, false], [0, true]),
  deniesAll: () => decides("denied", [0, false], [1, false, "no"]),
  forges,
  swaps,
  branches,
  fails,
  cuts,
  twice,
  queues,
  stops,
});

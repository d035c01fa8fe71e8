/** A page that is not the gateway's own: what it can do with each client that speaks HTTP. */

import { HttpAgent } from "@ag-ui/client";
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { createHttpClient } from "ropewalk";

async function outcome(work) {
  try {
    return await work();
  } catch ({ name, code, status }) {
    return { name, ...(code && { code }), ...(status && { status }) };
  }
}

/** Ask, hear the answer as it is written, and read what is stored; be refused three times. */
async function server(url, token) {
  const http = createHttpClient({ url, token, retries: 0 });
  const forged = createHttpClient({ url, token: "forged", retries: 0 });
  const asked = await outcome(() => http.agents.prompt("support", { message: "hello" }));
  if (!asked.runId) return asked;
  const { sessionId, runId } = asked;
  let text = "";
  for await (const event of http.agents.stream("support", sessionId, { runId })) {
    if (event.type === "text") text = text.slice(0, event.offset) + event.delta;
  }
  const { status } = await http.agents.getSession("support", sessionId);
  return {
    text,
    status,
    missing: await outcome(() => http.agents.getSession("support", "no such session")),
    invalid: await outcome(() => http.agents.prompt("support", { message: 7 })),
    forged: await outcome(() => forged.agents.list()),
  };
}

/** Begin a chat whose answer stops in the middle; `words` and `errors` say how far it is. */
function chat(url, token) {
  const errors = [];
  const headers = { authorization: `Bearer ${token}` };
  const api = `${url}/agents/support/ai-sdk`;
  const made = new Chat({
    id: crypto.randomUUID(),
    transport: new DefaultChatTransport({ api, headers }),
    onError: ({ message }) => errors.push(message),
  });
  const words = () => made.messages.at(-1)?.parts.findLast(({ type }) => type === "text")?.text;
  Object.assign(globalThis, { words, errors });
  made.sendMessage({ text: "Story" });
}

async function agUi(url, token) {
  const agent = new HttpAgent({
    url: `${url}/agents/support/ag-ui`,
    threadId: crypto.randomUUID(),
    headers: { authorization: `Bearer ${token}` },
  });
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "hello" });
  return outcome(async () => {
    await agent.runAgent();
    return agent.messages.at(-1).content;
  });
}

const read = (address) => outcome(async () => (await fetch(address)).text());

Object.assign(globalThis, { server, chat, agUi, read });

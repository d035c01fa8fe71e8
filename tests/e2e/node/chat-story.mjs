/**
 * A conversation over the socket, told by the SDK's client in a runtime without a page.
 * Arguments: the SDK's entry, the gateway, Ann's token, Ben's token. Prints what was seen, as JSON.
 */

import { pathToFileURL } from "node:url";
import { socketConstructor, watching } from "./stage.mjs";

const [entry, url, token] = process.argv.slice(2);
const { createApprovals, createChat, createClient, createHttpClient, mutation, preload } =
  await import(pathToFileURL(entry).href);

const sockets = [];
class Counted extends socketConstructor(entry) {
  constructor(...given) {
    super(...given);
    sockets.push(this);
  }
}

const calls = { run: mutation("chat:startRun") };
const key = crypto.randomUUID();
const options = { url, token, WebSocket: Counted };
const ann = createClient(options);
const chat = createChat(ann, key);
const inbox = createApprovals(ann, { key });
const shown = watching(chat.state);
const waiting = watching(inbox.state);

const textOf = ({ messages }) => messages.map(({ role, text }) => [role, text]);
const isDone = ({ status, pending }) => status === "completed" && !pending;

// The line is cut in the middle of the answer.
await chat.send(calls, "What is the weather in Oslo and Bergen?");
await shown.until(({ streamingText }) => streamingText.length > 10);
sockets.at(-1).close();
await shown.until(isDone);
const connections = sockets.length;

// A refund that a person changes before he lets it happen.
await chat.send(calls, "Refund order 1002");
const { pending } = await waiting.until((state) => state.pending.length > 0);
await inbox.edit(pending[0], { ...pending[0].input, amount: 1200 }, "not all of it");
await shown.until(isDone);
await waiting.until((state) => state.pending.length === 0);

const stored = await createHttpClient({ url, token }).agents.getSession("support", key);
const known = await preload(options, (client) => [createChat(client, key).state]);
const rendered = createChat(createClient({ ...options, snapshot: known }), key).state.get();
ann.close();

const pieces = new Set(shown.seen.map(({ streamingText }) => streamingText));
console.log(
  JSON.stringify({
    pieces: pieces.size,
    connections,
    asked: pending.map(({ name, input }) => [name, input.order_id]),
    refunded: stored.messages
      .flatMap(({ parts }) => parts)
      .filter(({ type, name }) => type === "tool_result" && name === "refund_order")
      .map(({ output }) => output.refunded_cents),
    asStored: JSON.stringify(textOf(chat.state.get())) === JSON.stringify(textOf(stored)),
    asRendered: JSON.stringify(textOf(rendered)) === JSON.stringify(textOf(chat.state.get())),
  }),
);

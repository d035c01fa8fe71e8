// @vitest-environment happy-dom
/** The element comes, moves, changes and goes: what it asks for, and when it lets go. */

import { beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { aMessage, aThread } from "../support/builders.js";
import type { TestGateway } from "../support/gateway.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { parts, put, texts, the } from "./support.js";

const DONE = aThread({ status: "completed" });
const WATCHED = ["agents:agentMessages", "agents:agentThread"];

let gateway: TestGateway;

beforeEach(async () => {
  localStorage.clear();
  gateway = await startGateway();
  for (const key of ["t-1", "t-2"]) {
    gateway.commit(key, [aMessage({ seq: 1, id: key, text: `of ${key}` })], { ...DONE, key });
  }
});

function watched(): string[] {
  return gateway.subscriptions.map((id) => id.slice(0, id.indexOf("{")).replace(/\W+$/, ""));
}

it("asks for nothing before it is in a page, and lets go when it leaves", async () => {
  const client = connect(gateway);
  const element = put(client, { agent: "support", thread: "t-1" });
  element.remove();
  expect(gateway.connections).toBe(0);

  document.body.append(element);
  await waitUntil(() => texts(element, "message").join() === "of t-1", "it shows");
  element.remove();
  await waitUntil(() => gateway.subscriptions.length === 0, "it lets go");

  document.body.append(element);
  gateway.commit("t-1", [aMessage({ seq: 2, turn: 1, text: "meanwhile" })], DONE);
  await waitUntil(() => texts(element, "message").join() === "of t-1,meanwhile", "it is back");
});

it("goes on where it is moved to, with what was written in it", async () => {
  const element = put(connect(gateway), { agent: "support", thread: "t-1" });
  await waitUntil(() => parts(element, "message").length === 1, "it shows");
  the<HTMLTextAreaElement>(element, "input").value = "half a sen";
  const message = the(element, "message");
  const asked = gateway.got("subscribe").length;
  document.body.append(document.createElement("main"));
  document.querySelector("main")?.append(element);

  expect(the(element, "message")).toBe(message);
  expect(the<HTMLTextAreaElement>(element, "input").value).toBe("half a sen");
  gateway.commit("t-1", [aMessage({ seq: 2, turn: 1 })], DONE);
  await waitUntil(() => parts(element, "message").length === 2, "it is live");
  expect(gateway.got("subscribe")).toHaveLength(asked);
});

it("shows nothing of a conversation beside another, and lets go of the one before", async () => {
  const element = put(connect(gateway), { agent: "support", thread: "t-1" });
  await waitUntil(() => parts(element, "message").length === 1, "the first");
  const seen = new Set<string>();
  element.setAttribute("thread", "t-2");
  await Promise.resolve();
  await waitUntil(() => {
    seen.add(texts(element, "message").join());
    return seen.has("of t-2");
  }, "the second");

  expect([...seen].filter((one) => one !== "")).toEqual(["of t-2"]);
  await waitUntil(() => gateway.subscriptions.length === 2, "only one is watched");
  expect(gateway.subscriptions.every((id) => id.includes("t-2"))).toBe(true);
  expect(watched()).toEqual(WATCHED);
});

it("takes what was set before the page knew what it is", async () => {
  const late = document.createElement("div");
  late.innerHTML = `<ropewalk-late agent="support" thread="t-1"></ropewalk-late>`;
  document.body.append(late);
  const element = late.firstElementChild as HTMLElement;
  Object.assign(element, { client: connect(gateway) });
  const { RopewalkChatElement } = await import("../../src/element/index.js");
  customElements.define("ropewalk-late", class extends RopewalkChatElement {});

  // This platform may upgrade by putting another in its place.
  const upgraded = late.firstElementChild as HTMLElement;
  expect(Object.hasOwn(upgraded, "client")).toBe(false);
  await waitUntil(() => texts(upgraded, "message").join() === "of t-1", "it shows");
});

it("keeps a key for each agent where none is given, until a new one is begun", async () => {
  const client = connect(gateway);
  const first = put(client, { agent: "support" });
  const other = put(client, { agent: "sales" });
  const again = put(client, { agent: "support" });
  const key = first.threadKey;

  expect(key).toMatch(/^chat-[0-9a-f]{24}$/);
  expect(again.threadKey).toBe(key);
  expect(other.threadKey).not.toBe(key);
  again.startNew();
  await waitUntil(() => again.threadKey !== key, "a new one");
  expect(put(client, { agent: "support" }).threadKey).toBe(again.threadKey);
});

it("makes a client of its own by address and token, asks for the token on every connect", async () => {
  Object.assign(globalThis, { WebSocket });
  const shown: (string | undefined)[] = [];
  gateway.judge = (token) => {
    shown.push(token);
    return "user-1";
  };
  const element = put(undefined, { agent: "support", thread: "t-1", url: gateway.url, token: "a" });
  await waitUntil(() => parts(element, "message").length === 1, "it shows");
  element.setAttribute("token", "b");
  await waitUntil(() => shown.length === 2, "the new token is shown");
  element.getToken = () => Promise.resolve("c");
  await waitUntil(() => shown.length === 3, "the one of the function");
  expect(shown).toEqual(["a", "b", "c"]);

  const second = await startGateway();
  element.setAttribute("url", second.url);
  await waitUntil(() => second.connections === 1, "it is at the other");
  await waitUntil(() => gateway.lines.size === 0, "the first is left");
  element.client = connect(gateway);
  await waitUntil(() => second.lines.size === 0, "its own client is closed");
});

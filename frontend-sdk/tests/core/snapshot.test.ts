/** What a server rendered a page with, in the browser that shows it. */

import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import {
  agents,
  type ClientSnapshot,
  createChat,
  createClient,
  preload,
  query,
  type SocketConstructor,
} from "../../src/core/index.js";
import { CLOSE_PROTOCOL } from "../../src/core/protocol.gen.js";
import { aMessage, aThread } from "../support/builders.js";
import { Conversation } from "../support/conversation.js";
import type { TestGateway } from "../support/gateway.js";
import { bubbles, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const stats = query<Record<string, never>, { visitors: number }>("app:stats");

const overSockets = (gateway: TestGateway) => ({
  url: gateway.url,
  WebSocket: WebSocket as unknown as SocketConstructor,
});

/** As it travels in a page. */
async function rendered(gateway: TestGateway, token?: string): Promise<ClientSnapshot> {
  const options = { ...overSockets(gateway), token: token ?? null };
  const snapshot = await preload(options, (client) => [
    createChat(client, KEY).state,
    client.agentState(KEY),
    client.subscription(stats, {}),
  ]);
  return JSON.parse(JSON.stringify(snapshot)) as ClientSnapshot;
}

async function aGateway(): Promise<TestGateway> {
  const gateway = await startGateway();
  gateway.commit(KEY, [aMessage({ seq: 1 }), aMessage({ seq: 2 })], aThread({ status: "running" }));
  gateway.setState(KEY, { step: 3 });
  gateway.answer("app:stats{}", { visitors: 7 });
  return gateway;
}

describe("a snapshot of a page", () => {
  it("SUB-03 shows chat, state and queries in the first frame, and asks for what came since", async () => {
    const gateway = await aGateway();
    const snapshot = await rendered(gateway);
    await waitUntil(() => gateway.lines.size === 0, "the server's own socket is gone");
    gateway.commit(KEY, [aMessage({ seq: 3 })], aThread({ status: "completed" }));

    const client = connect(gateway, { snapshot });
    const chat = createChat(client, KEY);
    const state = client.agentState<{ step: number }>(KEY);
    const visitors = client.subscription(stats, {});
    const first = chat.state.get();

    expect(first).toMatchObject({ status: "running", error: undefined });
    expect(bubbles(first)).toEqual(["message 1", "message 2"]);
    expect(state.get()).toEqual({ state: { step: 3 }, error: undefined });
    expect(visitors.get()).toEqual({ value: { visitors: 7 }, error: undefined, loading: false });

    const { frames } = record(chat);
    state.subscribe(() => {});
    visitors.subscribe(() => {});
    await waitUntil(() => chat.state.get().status === "completed", "it has caught up");
    expect(frames.every(({ status }) => status !== "loading")).toBe(true);
    expect(bubbles(chat.state.get())).toEqual(["message 1", "message 2", "message 3"]);
    expect(chat.state.get().messages[0]).toBe(first.messages[0]);
    const [asked] = gateway.got("subscribe").filter(({ cursor }) => cursor !== undefined);
    expect(asked?.query).toBe(agents.agentMessages);
  });

  it("has the branch that is selected", async () => {
    const gateway = await startGateway();
    const conversation = new Conversation(gateway, KEY);
    conversation.ask(KEY, "How warm is it?");
    conversation.answer(KEY, "12 degrees");
    const other = conversation.branch(KEY, 1, "And tomorrow?");
    conversation.select(other);

    const snapshot = await rendered(gateway);

    const { state } = createChat(createClient({ url: "http://nowhere", snapshot }), KEY);
    expect(bubbles(state.get())).toEqual(["How warm is it?", "And tomorrow?"]);
    expect(state.get().branches).toHaveLength(1);
  });

  it("is rendered and shown without a socket", async () => {
    const gateway = await aGateway();
    const snapshot = await rendered(gateway);
    const open = () => {
      throw new Error("a socket was opened");
    };

    const client = createClient({ url: gateway.url, snapshot, environment: { open } });

    expect(bubbles(createChat(client, KEY).state.get())).toHaveLength(2);
    expect(client.connection.get().name).toBe("idle");
    expect(createChat(createClient(), KEY).state.get().status).toBe("loading");
  });

  it("is dropped where somebody else is signed in, with what was asked in the first's name", async () => {
    const gateway = await aGateway();
    gateway.judge = (token) => token ?? null;
    const snapshot = await rendered(gateway, "ada");
    expect(snapshot.user).toBe("ada");

    const client = connect(gateway, { snapshot, token: "bob" });
    const chat = createChat(client, KEY);
    const unseen = client.agentState(KEY);
    record(chat);
    const asked = chat.send(CALLS, "hers").catch((error: unknown) => error);
    expect(bubbles(chat.state.get())).toContain("hers");
    await waitUntil(() => client.connection.get().name === "open", "bob is welcome");

    expect(unseen.get().state).toBeUndefined();
    expect(await asked).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(gateway.got("call")).toEqual([]);
    await waitUntil(() => bubbles(chat.state.get()).length === 2, "bob's own answer is there");
    const asking = gateway.got("subscribe").slice(-2);
    expect(asking.map(({ cursor }) => cursor)).toEqual([undefined, undefined]);
  });

  it("is kept by whom it is of", async () => {
    const gateway = await aGateway();
    gateway.judge = (token) => token ?? null;

    const client = connect(gateway, { snapshot: await rendered(gateway, "ada"), token: "ada" });
    const { frames } = record(createChat(client, KEY));
    await waitUntil(() => client.connection.get().name === "open", "she is welcome");
    gateway.commit(KEY, [], aThread({ status: "completed" }));
    await waitUntil(() => frames.at(-1)?.status === "completed", "it is live");

    expect(frames.every((frame) => bubbles(frame).length === 2)).toBe(true);
  });

  it("has what came in time, and what has not is asked for by the browser", async () => {
    const gateway = await aGateway();
    gateway.queryMs = 60_000;

    let timeIsUp = () => {};
    const environment = {
      after(ms: number, then: () => void) {
        if (ms === 5_000) timeIsUp = then;
        return () => {};
      },
    };
    const snapshot = await preload({ ...overSockets(gateway), environment }, (client) => {
      const state = client.agentState(KEY);
      state.subscribe(() => timeIsUp());
      return [state, client.subscription(stats, {})];
    });

    expect(Object.keys(snapshot.queries)).toEqual([`agents:agentState{"key":"${KEY}"}`]);
    const client = createClient({ url: "http://nowhere", snapshot });
    expect(client.subscription(stats, {}).get().loading).toBe(true);
  });

  it("is empty, and nobody's, at once when the server will not speak with it", async () => {
    const gateway = await startGateway();
    gateway.silent = true;
    const asked = preload({ ...overSockets(gateway), timeoutMs: 600_000 }, (client) => [
      createChat(client, KEY).state,
    ]);
    await waitUntil(() => gateway.received.length > 0, "it has greeted");

    for (const { socket } of gateway.lines) socket.close(CLOSE_PROTOCOL);

    expect(await asked).toEqual({ user: null, queries: {} });
  });

  it("is empty, and nobody's, when no server answers", async () => {
    const gateway = await startGateway();
    await gateway.stop();

    const options = { ...overSockets(gateway), timeoutMs: 50 };
    const snapshot = await preload(options, (client) => [createChat(client, KEY).state]);

    expect(snapshot).toEqual({ user: null, queries: {} });
  });
});

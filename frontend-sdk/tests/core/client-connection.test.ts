/** What a connection may do to a client, over a real socket. */

import { describe, expect, it } from "vitest";
import { agents, type ChatClient, createChat } from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { api, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";

async function isOpen(client: ChatClient): Promise<void> {
  await waitUntil(() => client.connection.get().name === "open", "the connection is open");
}

describe("a connection", () => {
  it("is opened by the first who watches, and let go after the last", async () => {
    const gateway = await startGateway();
    const client = connect(gateway, { speed: 100 });
    expect(gateway.connections).toBe(0);

    const stop = createChat(client, KEY).state.subscribe(() => {});
    await isOpen(client);
    stop();

    await waitUntil(() => gateway.got("unsubscribe").length === 2, "both subscriptions have ended");
    await waitUntil(() => gateway.lines.size === 0, "the socket is closed");
    expect(client.connection.get().name).toBe("idle");
  });

  it("leaves no timer behind when it is closed, for which a program would wait", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", () => ({ id: "r-1" }));
    const timers = new Set<object>();
    const after = (ms: number, then: () => void) => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        then();
      }, ms);
      timers.add(timer);
      return () => {
        timers.delete(timer);
        clearTimeout(timer);
      };
    };
    const client = connect(gateway, { environment: { after } });
    const chat = createChat(client, KEY);
    const stop = chat.state.subscribe(() => {});
    const leave = client.subscription(agents.agentApprovals, {}).subscribe(() => {});
    await chat.send(CALLS, "its run shows later");
    leave();
    expect(timers.size, "what beats, lingers and waits to be shown").toBeGreaterThan(2);

    client.close();
    stop();

    expect(timers.size).toBe(0);
  });

  it("SUB-05 is one for everything: a thread twice over, an app's query, a call", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", () => ({ id: "r-1" }));
    const client = connect(gateway);

    createChat(client, KEY).state.subscribe(() => {});
    createChat(client, KEY).state.subscribe(() => {});
    const stats = client.subscription("app:stats" as typeof api.agents.agentThread, { key: KEY });
    stats.subscribe(() => {});
    await client.call(api.chat.startRun, { input: "x", threadKey: KEY });
    await waitUntil(() => !stats.get().loading, "the query has an answer");

    expect(gateway.connections).toBe(1);
    expect(gateway.subscriptions).toEqual([
      'agents:agentMessages{"key":"t-1"}',
      'agents:agentThread{"key":"t-1"}',
      'app:stats{"key":"t-1"}',
    ]);
  });

  it("SUB-03 B66 renews every subscription from its cursor, and nothing is lost or told twice", async () => {
    const gateway = await startGateway();
    const client = connect(gateway);
    const keys = ["a", "b", "c"];
    for (const key of keys)
      gateway.commit(key, [aMessage({ seq: 1, id: `${key}-1` })], aThread({ key }));
    const chats = keys.map((key) => createChat(client, key));
    const recorded = chats.map((chat) => record(chat));
    await waitUntil(
      () => chats.every((chat) => chat.state.get().messages.length === 1),
      "all are there",
    );

    gateway.cut();
    for (const key of keys)
      gateway.commit(
        key,
        [aMessage({ seq: 2, id: `${key}-2` })],
        aThread({ key, status: "completed" }),
      );
    await waitUntil(() => gateway.connections === 2, "it has come back");
    await waitUntil(
      () => chats.every((chat) => chat.state.get().messages.length === 2),
      "all caught up",
    );

    const again = gateway.got("subscribe").slice(6);
    expect(again.map(({ cursor }) => cursor)).toEqual(again.map(() => "7311-1.1"));
    for (const { frames } of recorded) {
      expect(
        frames.every(
          ({ messages }) => new Set(messages.map(({ id }) => id)).size === messages.length,
        ),
      ).toBe(true);
    }
  });

  it("SUB-03 notices a gap, asks again from its cursor, and skips what it has", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
    const chat = createChat(connect(gateway), KEY);
    record(chat);
    await waitUntil(() => chat.state.get().messages.length === 1, "the first is there");

    gateway.raw(KEY, (id) => ({
      type: "delta",
      id,
      from: "7311-1.5",
      cursor: "7311-1.6",
      ops: [{ op: "upsert", row: aMessage({ seq: 9 }) }],
    }));
    await waitUntil(() => gateway.got("subscribe").length === 3, "it has asked again");

    expect(gateway.got("subscribe")[2]?.cursor).toBe("7311-1.1");
    gateway.commit(KEY, [aMessage({ seq: 2 })]);
    await waitUntil(() => chat.state.get().messages.length === 2, "it goes on");
    expect(chat.state.get().messages.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it("starts over when the database has another timeline", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1 }), aMessage({ seq: 2 })], aThread());
    const chat = createChat(connect(gateway), KEY);
    record(chat);
    await waitUntil(() => chat.state.get().messages.length === 2, "both are there");

    gateway.timeline = "7311-2";
    gateway.commit(KEY, [aMessage({ seq: 1, id: "other" })]);

    await waitUntil(
      () => chat.state.get().messages.some(({ id }) => id === "other"),
      "it has the new one",
    );
  });

  it("sends a call again whose answer was lost, under the same key, and it takes effect once", async () => {
    const gateway = await startGateway();
    let effects = 0;
    gateway.handlers.set("chat:startRun", () => {
      effects += 1;
      gateway.cut();
      return { id: "r-1" };
    });
    const client = connect(gateway);

    await expect(client.call(api.chat.startRun, { input: "x", threadKey: KEY })).resolves.toEqual({
      id: "r-1",
    });

    const [first, second] = gateway.got("call");
    expect(second?.dedupe).toBe(first?.dedupe);
    expect(effects).toBe(1);
  });

  it("keeps calls that were made offline, in their order, and the message stays on show", async () => {
    const gateway = await startGateway();
    await gateway.stop();
    const client = connect(gateway, { speed: 10 });
    const chat = createChat(client, KEY);
    record(chat);

    const sent = Promise.all([chat.send(CALLS, "one"), chat.send(CALLS, "two")]);
    await waitUntil(() => client.connection.get().name === "waiting", "it has failed to connect");
    expect(chat.state.get()).toMatchObject({ status: "queued", pending: true });
    expect(chat.state.get().messages.map(({ text }) => text)).toEqual(["one", "two"]);
    const back = await startGateway(Number(new URL(gateway.url).port));
    back.handlers.set("chat:startRun", ({ input }) => ({ id: input }));

    await expect(sent).resolves.toEqual([{ id: "one" }, { id: "two" }]);
  });

  it("goes elsewhere on a goodbye, after the pause that the server asks for", async () => {
    const gateway = await startGateway();
    const client = connect(gateway);
    record(createChat(client, KEY));
    await isOpen(client);

    const asked = performance.now();
    gateway.broadcast({ type: "goodbye", reason: "shutting down", retryAfter: 0.2 });
    await waitUntil(() => gateway.connections === 2, "it has come back");

    expect(performance.now() - asked).toBeGreaterThanOrEqual(190);
  });

  it("gives up a server that has fallen silent", async () => {
    const gateway = await startGateway();
    gateway.heartbeat = 1;
    const client = connect(gateway, { speed: 20 });
    record(createChat(client, KEY));
    await isOpen(client);

    gateway.silent = true;
    await waitUntil(() => gateway.got("ping").length > 0, "it has asked");
    await waitUntil(() => client.connection.get().name === "waiting", "it has given up");
    gateway.silent = false;

    await isOpen(client);
  });

  it("stays with a server that answers its pings", async () => {
    const gateway = await startGateway();
    gateway.heartbeat = 1;
    const client = connect(gateway, { speed: 50 });
    record(createChat(client, KEY));

    await waitUntil(() => gateway.got("ping").length > 5, "it has asked a few times");

    expect(gateway.connections).toBe(1);
  });

  it("B65 asks for a token on every connect, and comes back with the new one after sleep", async () => {
    const gateway = await startGateway();
    const good = new Set(["token-1"]);
    gateway.judge = (token) => (token !== undefined && good.has(token) ? "ada" : "refuse");
    let asked = 0;
    let wake = () => {};
    const client = connect(gateway, {
      speed: 20,
      token: async () => {
        asked += 1;
        return `token-${asked}`;
      },
      environment: {
        onWake: (listener) => {
          wake = listener;
          return () => {};
        },
      },
    });
    record(createChat(client, KEY));
    await isOpen(client);

    good.clear();
    good.add("token-3");
    gateway.silent = true;
    wake();
    await waitUntil(() => gateway.lines.size === 0 || asked > 1, "it has noticed");
    gateway.silent = false;

    await isOpen(client);
    expect(gateway.got("hello").map(({ token }) => token)).toEqual([
      "token-1",
      "token-2",
      "token-3",
    ]);
    expect(client.connection.get()).toMatchObject({ identity: { userId: "ada" } });
  });

  it("B65 presents a new token on the live socket when the old one has run out", async () => {
    const gateway = await startGateway();
    gateway.judge = () => "ada";
    let asked = 0;
    const client = connect(gateway, { token: () => `token-${++asked}` });
    record(createChat(client, KEY));
    await isOpen(client);

    gateway.broadcast({ type: "error", code: "UNAUTHENTICATED", message: "the token has expired" });
    await waitUntil(() => gateway.got("auth").length === 1, "it has presented another");

    expect(gateway.got("auth")[0]?.token).toBe("token-2");
    expect(gateway.connections).toBe(1);
  });

  it("B65 does not run in circles when every token is refused", async () => {
    const gateway = await startGateway();
    gateway.judge = () => "refuse";
    const client = connect(gateway, { token: "bad", environment: { random: () => 0.5 } });
    record(createChat(client, KEY));

    await waitUntil(() => gateway.connections === 2, "it has tried twice");
    await new Promise((resolve) => setTimeout(resolve, 250));

    expect(gateway.connections).toBeLessThanOrEqual(3);
    expect(client.connection.get()).toMatchObject({ error: { code: "UNAUTHENTICATED" } });
  });

  it("shows nobody what another was shown, and asks nothing in another's name", async () => {
    const gateway = await startGateway();
    let user = "ada";
    gateway.judge = () => user;
    gateway.handlers.set("chat:startRun", () => new Promise(() => {}));
    gateway.commit(KEY, [aMessage({ seq: 1, text: "secret" })], aThread());
    const client = connect(gateway, { token: () => user });
    const chat = createChat(client, KEY);
    record(chat);
    await waitUntil(() => chat.state.get().messages.length === 1, "she sees her message");
    const asked = chat.send(CALLS, "hers").catch((error) => error);

    await waitUntil(() => gateway.got("call").length === 1, "her call is on its way");

    user = "bob";
    gateway.cut();

    expect(await asked).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(gateway.got("call")).toHaveLength(1);
    expect(gateway.got("subscribe").at(-1)?.cursor).toBeUndefined();
  });

  it("stops for good when the server speaks another protocol", async () => {
    const gateway = await startGateway();
    const client = connect(gateway);
    record(createChat(client, KEY));
    await isOpen(client);

    for (const { socket } of gateway.lines) socket.close(4400, "protocol 1 is not spoken here");
    await waitUntil(() => client.connection.get().name === "stopped", "it has stopped");

    await expect(
      client.call(api.chat.startRun, { input: "x", threadKey: KEY }),
    ).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("tries a query again that failed for a passing reason, and keeps what it had", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1 })], aThread());
    const client = connect(gateway, { speed: 10 });
    const chat = createChat(client, KEY);
    record(chat);
    await waitUntil(() => chat.state.get().messages.length === 1, "it is there");

    gateway.raw(KEY, (id) => ({
      type: "error",
      id,
      code: "UNAVAILABLE",
      message: "the database is away",
    }));
    await waitUntil(() => chat.state.get().error !== undefined, "it says so");
    expect(chat.state.get().messages).toHaveLength(1);
    for (const line of gateway.lines) line.subscriptions.clear();

    await waitUntil(() => chat.state.get().error === undefined, "it works again");
    expect(chat.state.get().messages).toHaveLength(1);
  });
});

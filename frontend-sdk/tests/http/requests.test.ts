/** The HTTP client's requests: what they say, when they are made again, how they fail. */

import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { HttpError, RopewalkError, ref } from "../../src/core/index.js";
import { aRecord } from "../support/builders.js";
import { waitUntil } from "../support/wait-until.js";
import { type Answer, clientOf, cut, events, json, TestServer } from "./server.js";

const accepted = { sessionId: "s-1", runId: "r-1" };
const silence: Answer = () => {};
const fault = (code: string, status: number, headers = {}, data?: object) =>
  json({ code, message: `it is ${code}`, ...(data && { data }) }, status, headers);

async function failure(work: Promise<unknown>): Promise<HttpError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(HttpError);
  expect(thrown).toBeInstanceOf(RopewalkError);
  return thrown as HttpError;
}

describe("SDK-14 a request", () => {
  it("says what is asked, by whom, and under which key", async () => {
    const server = await TestServer.start(json(accepted, 202));
    const { client } = clientOf(server, { token: () => Promise.resolve("t-1") });

    const answer = await client.agents.prompt("support", { message: "hi", sessionId: "s-1" });
    await client.agents.prompt("support", { message: "hi" }, { idempotencyKey: "mine" });
    await client.agents.list();

    expect(answer).toEqual(accepted);
    const [first, second, third] = server.received;
    expect(first).toMatchObject({
      method: "POST",
      url: "/agents/support",
      body: { message: "hi", sessionId: "s-1" },
      headers: { authorization: "Bearer t-1", "content-type": "application/json" },
    });
    expect(first?.headers["idempotency-key"]).toMatch(/^.{16,}$/);
    expect(second?.headers["idempotency-key"]).toBe("mine");
    expect(third?.headers).not.toHaveProperty("idempotency-key");
  });

  it("puts each name into one segment of the address, and refuses what none can hold", async () => {
    const server = await TestServer.start(json({}));
    const { client } = clientOf({ url: `${server.url}/chat/` });

    await client.agents.getSession("support", "a/../b?c#d é", { limit: 5, before: 9 });

    const path = "/chat/agents/support/sessions/a%2F..%2Fb%3Fc%23d%20%C3%A9?limit=5&before=9";
    expect(server.received.map(({ url }) => url)).toEqual([path]);
    for (const key of ["", ".", "..", "\ud800"]) {
      const error = await failure(client.agents.getSession("support", key));
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    expect(server.received).toHaveLength(1);
  });

  it("calls a function by its reference and answers with its value", async () => {
    const server = await TestServer.start(json(7));
    const { client } = clientOf(server);
    const count = ref<{ status: "open" }, number>("orders:count");

    const value: number = await client.call(count, { status: "open" });

    expect(value).toBe(7);
    expect(server.received[0]).toMatchObject({
      url: "/functions/orders%3Acount",
      body: { status: "open" },
    });
  });

  it("decides on the arguments that were shown, for one conversation at a time", async () => {
    const server = await TestServer.start(json([]));
    const { client } = clientOf(server);
    const mine = aRecord({ key: "t-1", toolCallId: "c-1", inputHash: "h-1" });
    const other = aRecord({ key: "t-2" });

    await client.approvals.decide({ approval: mine, decision: "denied", reason: "no" });
    const both = [mine, other].map((approval) => ({ approval, decision: "approved" as const }));
    const error = await failure(client.approvals.decide(both));

    const decision = { toolCallId: "c-1", inputHash: "h-1", decision: "denied", reason: "no" };
    expect(server.received.map(({ body }) => body)).toEqual([
      { key: "t-1", decisions: [decision] },
    ]);
    expect(error.code).toBe("INVALID_ARGUMENT");
  });
});

describe("SDK-14 what fails in passing is tried again", () => {
  it.each<[string, Answer]>([
    ["there is no answer", cut],
    [
      "the answer breaks off",
      (response) => {
        response.writeHead(202, { "content-length": "100" }).write('{"sess');
        setImmediate(() => response.destroy());
      },
    ],
    ["the server is away", fault("UNAVAILABLE", 503)],
    ["a proxy finds none", (response) => response.writeHead(502).end("<h1>Bad gateway</h1>")],
  ])("under the same key, when %s", async (_, answer) => {
    const server = await TestServer.start(answer, answer, json(accepted, 202));
    const { client, pauses } = clientOf(server);

    expect(await client.agents.prompt("support", { message: "hi" })).toEqual(accepted);

    const keys = server.received.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(pauses).toEqual([600, 1200]);
  });

  it("a few times, and then it fails with the last reason", async () => {
    const server = await TestServer.start(fault("UNAVAILABLE", 503));
    const { client } = clientOf(server, { retries: 2 });

    const error = await failure(client.agents.list());

    expect(error).toMatchObject({ code: "UNAVAILABLE", status: 503 });
    expect(server.received).toHaveLength(3);
  });

  it("not before the server said, with the token of then", async () => {
    const soon = new Date(Date.now() + 20_000).toUTCString();
    const server = await TestServer.start(
      fault("RATE_LIMITED", 429, { "retry-after": "2" }),
      fault("UNAVAILABLE", 503, { "retry-after": soon }),
      json({ agents: [] }),
    );
    const tokens = ["old", "newer", "newest"];
    const { client, pauses } = clientOf(server, { token: () => tokens.shift() });

    expect(await client.agents.list()).toEqual([]);

    expect(pauses[0]).toBe(2600);
    expect(pauses[1]).toBeGreaterThan(10_000);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer old",
      "Bearer newer",
      "Bearer newest",
    ]);
  });

  it("but not for as long as an hour: the caller is told how long", async () => {
    const server = await TestServer.start(fault("RATE_LIMITED", 429, { "retry-after": "3600" }));

    const error = await failure(clientOf(server).client.agents.list());

    expect(error).toMatchObject({ code: "RATE_LIMITED", status: 429, retryAfterMs: 3_600_000 });
    expect(server.received).toHaveLength(1);
  });

  it("but not a cancel that names no run: it might meet another", async () => {
    const server = await TestServer.start(cut, cut, json({ cancelled: true }));
    const { client } = clientOf(server);

    const error = await failure(client.agents.cancel("support", "s-1"));
    const named = await client.agents.cancel("support", "s-1", { runId: "r-1" });

    expect(error).toMatchObject({ code: "UNAVAILABLE", status: undefined });
    expect(named).toEqual({ cancelled: true });
    expect(server.received.map(({ body }) => body)).toEqual([
      {},
      { runId: "r-1" },
      { runId: "r-1" },
    ]);
  });
});

describe("SDK-14 what was refused is the caller's to know", () => {
  it.each([
    ["INVALID_ARGUMENT", 400],
    ["UNAUTHENTICATED", 401],
    ["FORBIDDEN", 403],
    ["NOT_FOUND", 404],
    ["CONFLICT", 409],
    ["PAYLOAD_TOO_LARGE", 413],
    ["INTERNAL", 500],
  ])("%s at once, with its data", async (code, status) => {
    const server = await TestServer.start(fault(code, status, {}, { which: 1 }));

    const error = await failure(clientOf(server).client.runs.get("r-1"));

    expect(error).toMatchObject({ code, status, message: `it is ${code}`, data: { which: 1 } });
    expect(server.received).toHaveLength(1);
  });

  it("also when it is not our server that speaks", async () => {
    const server = await TestServer.start(
      (response) => response.writeHead(403).end("<html>no</html>"),
      (response) => response.writeHead(200).end("<html>sign in</html>"),
    );
    const { client } = clientOf(server);

    expect(await failure(client.agents.list())).toMatchObject({ code: "FORBIDDEN", status: 403 });
    expect(await failure(client.agents.list())).toMatchObject({ code: "INTERNAL", status: 200 });
  });

  it("a server that never answers, after the time that was given", async () => {
    const server = await TestServer.start(silence);
    const { client } = clientOf(server, { retries: 0, timeoutMs: 50 });

    expect(await failure(client.agents.list())).toMatchObject({ code: "UNAVAILABLE" });
  });

  it("what cannot be said in JSON", async () => {
    const server = await TestServer.start(json({}));

    const error = await failure(clientOf(server).client.call(ref("app:count"), { n: 1n } as never));

    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(server.received).toEqual([]);
  });

  it("an address without a server's", () => {
    expect(() => clientOf({ url: "/api" })).toThrow(HttpError);
  });
});

describe("SDK-14 a request that is aborted", () => {
  const reason = new Error("enough");

  it("before it began is never made", async () => {
    const server = await TestServer.start(json({ agents: [] }));

    const asked = clientOf(server).client.agents.list({ signal: AbortSignal.abort(reason) });

    await expect(asked).rejects.toBe(reason);
    expect(server.received).toEqual([]);
  });

  it("rejects with the reason and closes its line", async () => {
    let closed = false;
    const server = await TestServer.start((response) => {
      response.on("close", () => {
        closed = true;
      });
    });
    const stop = new AbortController();

    const { client } = clientOf(server, { retries: 0 });
    const asked = client.agents.list({ signal: stop.signal });
    await waitUntil(() => server.received.length === 1, "the request is there");
    stop.abort(reason);

    await expect(asked).rejects.toBe(reason);
    await waitUntil(() => closed, "the line is closed");
  });

  it.each([
    ["a token", { token: () => new Promise<string>(() => {}) }],
    ["a fetch that heeds no signal", { fetch: () => new Promise<Response>(() => {}) }],
    [
      "the rest of such an answer",
      {
        fetch: async () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
      },
    ],
  ])("does not wait for %s", async (_, options) => {
    const { client } = clientOf({ url: "http://127.0.0.1:1" }, options);
    for (const begin of [
      (signal: AbortSignal) => client.agents.list({ signal }),
      (signal: AbortSignal) => client.agents.stream("support", "s-1", { signal }).next(),
    ]) {
      const stop = new AbortController();
      const asked = begin(stop.signal);
      setImmediate(() => stop.abort(reason));

      await expect(asked).rejects.toBe(reason);
      expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    }
  });

  it("while its token is fetched is never made, though fetch heeds no signal", async () => {
    let made = 0;
    let token: (token: string) => void = () => {};
    const { client } = clientOf(
      { url: "http://127.0.0.1:1" },
      {
        token: () =>
          new Promise((resolve) => {
            token = resolve;
          }),
        fetch: async () => {
          made += 1;
          return new Response("{}");
        },
      },
    );
    const stop = new AbortController();

    const asked = client.runs.cancel("r-1", { signal: stop.signal });
    stop.abort(reason);
    await expect(asked).rejects.toBe(reason);
    token("t-1");
    await new Promise(setImmediate);

    expect(made).toBe(0);
  });

  it("leaves nothing behind on a signal that lives longer", async () => {
    const server = await TestServer.start(cut, json({ agents: [] }), events());
    const { client } = clientOf(server, { retries: 1 });
    const { signal } = new AbortController();

    await client.agents.list({ signal });
    await expect(client.agents.stream("support", "s-1", { signal }).next()).rejects.toThrow();

    expect(server.received.length).toBeGreaterThan(3);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("while it waits is not made again", async () => {
    const server = await TestServer.start(fault("UNAVAILABLE", 503));
    const stop = new AbortController();
    const { client } = clientOf(server, {
      environment: {
        after: (ms, then) => {
          if (ms < 30_000) setImmediate(() => stop.abort(reason));
          const timer = setTimeout(then, 30_000);
          return () => clearTimeout(timer);
        },
      },
    });

    await expect(client.agents.list({ signal: stop.signal })).rejects.toBe(reason);
    expect(server.received).toHaveLength(1);
  });
});

/**
 * The core in runtimes that are no browser: it is bundled, and run in a context that has nothing
 * but what such a runtime gives it.
 */

import { createContext, runInContext } from "node:vm";
import { build } from "vite";
import { beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type * as Core from "../../src/core/index.js";
import { socketUrl } from "../../src/core/socket-url.js";
import { aMessage, aThread } from "../support/builders.js";
import { bubbles, CALLS, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const TIMERS = { setTimeout, clearTimeout, queueMicrotask, performance };

/** As React Native has it: it is there, and says of its parts that it has none. */
class PartlessUrl {
  get href(): string {
    throw new Error("not implemented");
  }
}

const RUNTIMES = {
  "a server": { globals: { ...TIMERS, URL, TextEncoder }, options: { WebSocket } },
  "a worker or an edge": { globals: { ...TIMERS, URL, TextEncoder, WebSocket, crypto } },
  "React Native": {
    globals: { ...TIMERS, URL: PartlessUrl, WebSocket, navigator: { product: "ReactNative" } },
  },
} as Record<string, { globals: object; options?: Core.ClientOptions }>;

let script = "";
beforeAll(async () => {
  const entry = new URL("../../src/core/index.ts", import.meta.url).pathname;
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: { write: false, minify: false, lib: { entry, name: "core", formats: ["iife"] } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const [chunk] = (output as { output: { code?: string }[] }).output;
  script = `${chunk?.code}; globalThis.core = core;`;
});

describe.each(Object.entries(RUNTIMES))("the core in %s", (_name, { globals, options }) => {
  it("connects, shows, sends, and comes back after a cut", async () => {
    const gateway = await startGateway();
    gateway.commit(KEY, [aMessage({ seq: 1 })], aThread({ status: "completed" }));
    gateway.handlers.set("chat:startRun", (_args, { dedupe = "" }) => {
      gateway.commit(KEY, [aMessage({ seq: 2, role: "user", text: "hi", dedupe })]);
      return { id: "r-2" };
    });
    const context = createContext({ ...globals });
    runInContext(script, context);
    const { core } = context as { core: typeof Core };
    expect(runInContext("typeof document + typeof window + typeof localStorage", context)).toBe(
      "undefinedundefinedundefined",
    );

    const client = core.createClient({ url: gateway.url, ...options });
    const chat = core.createChat(client, KEY);
    chat.state.subscribe(() => {});
    await waitUntil(() => bubbles(chat.state.get()).length === 1, "it shows what is stored");
    gateway.cut();
    await chat.send(CALLS, "hi");

    await waitUntil(
      () => bubbles(chat.state.get()).join() === "message 1,hi",
      "it shows what came",
    );
    expect(gateway.connections).toBe(2);
    client.close();
  });
});

it("says what is missing where there is no WebSocket", async () => {
  const context = createContext({ ...TIMERS, URL });
  runInContext(script, context);
  const { core } = context as { core: typeof Core };

  const client = core.createClient({ url: "http://nowhere" });
  client.agentState(KEY).subscribe(() => {});

  const error = () => (client.connection.get() as { error?: Error }).error?.message;
  await waitUntil(() => error() !== undefined, "it has failed to connect");
  expect(error()).toContain("there is no WebSocket here");
  client.close();
});

describe("the address of the socket", () => {
  it.each([
    ["https://chat.example.com", "wss://chat.example.com/ws"],
    ["https://chat.example.com/", "wss://chat.example.com/ws"],
    ["http://localhost:8000/api/live?v=1#top", "ws://localhost:8000/api/live?v=1"],
    ["wss://chat.example.com?v=1", "wss://chat.example.com/ws?v=1"],
    ["/ws", "ws://localhost/ws"],
    [undefined, "ws://localhost/ws"],
  ])("of %s is %s", (url, expected) => {
    expect(socketUrl(url)).toBe(expected);
  });
});

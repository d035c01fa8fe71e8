/** Several tabs of one browser on one socket: over real channels and real sockets. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../src/core/environment.js";
import {
  type Chat,
  type ChatClient,
  type ChatState,
  createChat,
  sharedTabs,
  type TokenSource,
} from "../../src/core/index.js";
import { MAX_CALLS } from "../../src/core/protocol.gen.js";
import type { TabPlatform } from "../../src/core/tab-membership.js";
import { FakeBrowser, type FakeTab } from "../support/browser.js";
import { aMessage, aThread } from "../support/builders.js";
import type { TestGateway } from "../support/gateway.js";
import { bubbles, CALLS, connect, record, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const SAID = { run: "r-1", turn: 0, part: 0, kind: "text", attempt: 100 } as const;
/** A leader is taken for frozen after 3 s; the tests need not wait for so long. */
const SPEED = 10;

interface Page {
  readonly tab: FakeTab;
  readonly client: ChatClient;
  readonly chat: Chat;
  readonly frames: readonly ChatState[];
}

function open(gateway: TestGateway, browser: FakeBrowser, token: TokenSource = null): Page {
  const tab = browser.tab(SPEED);
  const { environment } = tab;
  const client = connect(gateway, { tabs: sharedTabs(tab), token, environment });
  const chat = createChat(client, KEY);
  return { tab, client, chat, frames: record(chat).frames };
}

/** Pages that show the thread, the first of which holds the socket. */
async function opened(gateway: TestGateway, tokens: readonly TokenSource[]): Promise<Page[]> {
  const browser = new FakeBrowser();
  const pages: Page[] = [];
  for (const token of tokens) {
    const page = open(gateway, browser, token);
    await waitUntil(() => page.chat.state.get().status !== "loading", "the page is there");
    pages.push(page);
  }
  return pages;
}

async function aGateway(): Promise<TestGateway> {
  const gateway = await startGateway();
  gateway.judge = (token) => token?.split("-")[0] ?? null;
  gateway.commit(KEY, [aMessage({ seq: 1, role: "user" })], aThread());
  return gateway;
}

const showing = (pages: readonly Page[], ...texts: string[]) =>
  waitUntil(
    () => pages.every(({ chat }) => bubbles(chat.state.get()).join() === texts.join()),
    `all show ${texts.join()}`,
  );

function expectNothingTwice(pages: readonly Page[]): void {
  for (const { frames } of pages) {
    for (const { messages, live } of frames) {
      const keys = [...messages.map(({ id }) => id), ...live.map(({ run }) => run)];
      expect(new Set(keys).size).toBe(keys.length);
    }
  }
}

afterEach(() => vi.unstubAllGlobals());

describe("tabs of one browser", () => {
  it("SUB-05 watch, stream and call over one socket, and each gets what is its own", async () => {
    const gateway = await aGateway();
    let most = 0;
    let open = 0;
    gateway.handlers.set("app:slow", async ({ who }) => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open -= 1;
      return who;
    });
    const pages = await opened(gateway, ["ada-1", "ada-2", "ada-1"]);

    const calls = pages.flatMap(({ client }, page) =>
      Array.from({ length: MAX_CALLS / 2 + 5 }, async (_, index) => {
        const who = `${page}:${index}`;
        return { who, answer: await client.call("app:slow", { who } as never) };
      }),
    );
    gateway.token(KEY, { ...SAID, offset: 0, text: "abc" });
    await showing(pages, "message 1", "r-1:0...");
    gateway.commit(KEY, [aMessage({ seq: 2, turn: 0 })], aThread({ status: "completed" }));
    await showing(pages, "message 1", "message 2");

    for (const { who, answer } of await Promise.all(calls)) expect(answer).toBe(who);
    expect(most).toBeLessThanOrEqual(MAX_CALLS);
    await waitUntil(() => gateway.lines.size === 1, "there is one socket");
    // A new token is shown once, on a socket of its own; the same one not even that.
    expect(gateway.connections).toBe(2);
    expect(gateway.got("hello").map(({ token }) => token)).toEqual(["ada-1", "ada-2"]);
    expectNothingTwice(pages);
  });

  it("let go what a tab watched that was closed, and the socket with the last", async () => {
    const gateway = await aGateway();
    const [first, second] = (await opened(gateway, [null, null])) as [Page, Page];
    expect(gateway.subscriptions).toHaveLength(4);

    second.tab.close();
    await waitUntil(() => gateway.subscriptions.length === 2, "its subscriptions are gone");
    first.client.close();

    await waitUntil(() => gateway.lines.size === 0, "the socket is closed");
  });

  it.each(["closed", "frozen"])(
    "SUB-03 lose and double nothing when the tab that holds the socket is %s mid-stream",
    async (how) => {
      const gateway = await aGateway();
      gateway.heartbeat = 2;
      let effects = 0;
      gateway.handlers.set("chat:startRun", () => {
        effects += 1;
        return { id: "r-2" };
      });
      const [leader, ...others] = (await opened(gateway, ["ada", "ada", "ada"])) as [Page, Page];
      gateway.token(KEY, { ...SAID, offset: 0, text: "abc" });
      await showing(others, "message 1", "r-1:0...");

      if (how === "closed") leader.tab.close();
      else leader.tab.freeze();
      const sent = others.map(({ chat }, index) => chat.send(CALLS, `sent ${index}`));
      gateway.token(KEY, { ...SAID, offset: 3, text: "def" });
      gateway.commit(KEY, [aMessage({ seq: 2, turn: 0 })], aThread({ status: "completed" }));

      expect(await Promise.all(sent)).toEqual([{ id: "r-2" }, { id: "r-2" }]);
      await waitUntil(
        () => others.every(({ chat }) => chat.state.get().messages[1]?.id === "m-2"),
        "the others go on",
      );
      expect(effects).toBe(2);
      expectNothingTwice(others);

      if (how === "closed") {
        await waitUntil(() => gateway.lines.size === 1, "one of the others holds the socket");
        return;
      }
      leader.tab.wake();
      await waitUntil(() => gateway.lines.size === 1, "it has given its socket up");
      gateway.commit(KEY, [aMessage({ seq: 3 })]);
      await waitUntil(
        () => leader.chat.state.get().messages.some(({ id }) => id === "m-3"),
        "it follows",
      );
      expectNothingTwice([leader, ...others]);
    },
  );

  it("never share between two people, nor when one signs in as another", async () => {
    const gateway = await aGateway();
    let second = "bob-1";
    const [ada, bob] = (await opened(gateway, ["ada-1", () => second])) as [Page, Page];
    const who = ({ client }: Page) => {
      const state = client.connection.get();
      return state.name === "open" ? state.identity?.userId : undefined;
    };
    expect([who(ada), who(bob), gateway.lines.size]).toEqual(["ada", "bob", 2]);

    second = "ada-2";
    await bob.client.authenticate();
    await waitUntil(() => who(bob) === "ada" && gateway.lines.size === 1, "they share now");
    second = "bob-2";
    await bob.client.authenticate();
    await waitUntil(() => who(bob) === "bob", "he is bob again");

    expect([who(ada), gateway.lines.size]).toEqual(["ada", 2]);
    expect(gateway.got("auth")).toEqual([]);
  });

  it("B65 all come back with new tokens when that of the socket has run out", async () => {
    const gateway = await aGateway();
    let asked = 0;
    const token = () => `ada-${++asked}`;
    const pages = await opened(gateway, [token, token]);

    gateway.broadcast({ type: "error", code: "UNAUTHENTICATED", message: "the token has expired" });
    await waitUntil(() => asked >= 4, "both have asked for another");
    gateway.commit(KEY, [aMessage({ seq: 2 })]);

    await showing(pages, "message 1", "message 2");
    await waitUntil(() => gateway.lines.size === 1, "they are on one socket again");
  });

  it("learn from a socket that has fallen silent, and from a server that drains", async () => {
    const gateway = await aGateway();
    gateway.heartbeat = 1;
    const pages = await opened(gateway, [null, null]);

    gateway.silent = true;
    await waitUntil(
      () => pages.every(({ client }) => client.connection.get().name !== "open"),
      "they have given it up",
    );
    gateway.silent = false;
    await waitUntil(
      () => pages.every(({ client }) => client.connection.get().name === "open"),
      "they are back",
    );
    const before = gateway.connections;
    gateway.broadcast({ type: "goodbye", reason: "shutting down", retryAfter: 0.1 });
    await waitUntil(() => gateway.connections > before, "they have gone elsewhere");
    gateway.commit(KEY, [aMessage({ seq: 2 })]);

    await showing(pages, "message 1", "message 2");
    await waitUntil(() => gateway.lines.size === 1, "on one socket");
  });

  it.each(["locks", "BroadcastChannel"])("have a socket each without %s", async (missing) => {
    const gateway = await aGateway();
    const { locks, BroadcastChannel } = new FakeBrowser().tab();
    vi.stubGlobal("navigator", missing === "locks" ? {} : { locks });
    vi.stubGlobal("BroadcastChannel", missing === "locks" ? BroadcastChannel : undefined);
    const tabs = sharedTabs();
    const clients = [connect(gateway, { tabs }), connect(gateway, { tabs })];

    for (const client of clients) record(createChat(client, KEY));

    await waitUntil(() => gateway.lines.size === 2, "each has its own");
  });

  it("have a socket each where locks or channels are refused, as in a sandboxed frame", async () => {
    const gateway = await aGateway();
    const { BroadcastChannel } = globalThis;
    const refusal = new DOMException("not in this frame", "SecurityError");
    let asked = 0;
    const locks: TabPlatform["locks"] = {
      request: async () => {
        asked += 1;
        throw refusal;
      },
    };
    const refusing = class {
      constructor() {
        throw refusal;
      }
    } as unknown as TabPlatform["BroadcastChannel"];
    const tabs = [
      { locks, BroadcastChannel },
      { locks, BroadcastChannel },
      { locks: new FakeBrowser().tab().locks, BroadcastChannel: refusing },
    ];
    const chats = tabs.map((platform) =>
      createChat(connect(gateway, { tabs: sharedTabs(platform) }), KEY),
    );

    for (const chat of chats) record(chat);
    await waitUntil(() => gateway.lines.size === 3, "each has its own");
    gateway.commit(KEY, [aMessage({ seq: 2 })]);
    await waitUntil(
      () => chats.every((chat) => chat.state.get().messages.length === 2),
      "they are told",
    );

    expect(asked).toBe(4);
  });

  it("of two releases, whose servers speak otherwise, do not share", async () => {
    const gateway = await aGateway();
    const browser = new FakeBrowser();
    const greeted: string[] = [];
    const dial = (protocol: string) => {
      const tab = browser.tab();
      const environment = platform(tab.environment);
      const open = sharedTabs(tab)({
        ...environment,
        open: (url, spoken) => {
          greeted.push(spoken);
          return environment.open(url, spoken);
        },
      });
      return new Promise<void>((resolve) => {
        const socket = open(gateway.url.replace("http", "ws"), protocol);
        socket.onmessage = () => {
          resolve();
        };
        socket.onopen = () => socket.send(JSON.stringify({ type: "hello", protocol: 1 }));
      });
    };

    for (const protocol of ["ropewalk.v1", "ropewalk.v2", "ropewalk.v1"]) await dial(protocol);

    expect(greeted).toEqual(["ropewalk.v1", "ropewalk.v2"]);
  });
});

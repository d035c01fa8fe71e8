// @vitest-environment happy-dom
/** A page from a server of each framework's own, and the browser's taking over. */

import { hydrateRoot } from "react-dom/client";
import { hydrate as hydrateSolid } from "solid-js/web";
import { hydrate as hydrateSvelte, unmount } from "svelte";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import {
  type ChatClient,
  type ClientSnapshot,
  canonicalId,
  createChat,
  preload,
  type SocketConstructor,
} from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { TestGateway } from "../support/gateway.js";
import type { Rendered } from "../support/pages/on-server.js";
import { headline } from "../support/pages/options.js";
import * as react from "../support/pages/react-page.js";
import * as solid from "../support/pages/solid-page.jsx";
import SveltePage from "../support/pages/svelte-page.svelte";
import * as vue from "../support/pages/vue-page.js";
import { renderOnServer } from "../support/render-on-server.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const HEADLINE = canonicalId(headline, {});

type Hydrate = (client: ChatClient, target: HTMLElement) => () => void;

const HYDRATE: Record<string, Hydrate> = {
  React: (client, target) => {
    const root = hydrateRoot(target, react.page(client));
    return () => root.unmount();
  },
  Vue: (client, target) => {
    const app = vue.page(client);
    app.mount(target);
    return () => app.unmount();
  },
  Solid: (client, target) => {
    // As the script of the page does.
    Object.assign(globalThis, { _$HY: { events: [], completed: new WeakSet(), r: {} } });
    return hydrateSolid(solid.page(client), target);
  },
  "React waiting": (client, target) => {
    const root = hydrateRoot(target, react.waitingPage(client), { onRecoverableError: () => {} });
    return () => root.unmount();
  },
  "Solid waiting": (client, target) => {
    Object.assign(globalThis, { _$HY: { events: [], completed: new WeakSet(), r: {} } });
    return hydrateSolid(solid.waitingPage(client), target);
  },
  Svelte: (client, target) => {
    const page = hydrateSvelte(SveltePage, { target, props: { client } });
    return () => void unmount(page);
  },
};

let snapshot: ClientSnapshot;
let rendered: Readonly<Record<string, Rendered>>;
/** Sockets that were opened while pages were rendered. */
let opened: number;

function fill(gateway: TestGateway): TestGateway {
  const rows = [
    aMessage({ seq: 1, role: "user", text: "hi" }),
    aMessage({ seq: 2, text: "hello" }),
  ];
  gateway.commit("t-1", rows, aThread({ status: "completed" }));
  gateway.setState("t-1", "Greetings");
  gateway.answer(HEADLINE, "News");
  return gateway;
}

beforeAll(async () => {
  const gateway = fill(await TestGateway.start());
  const { url } = gateway;
  const options = { url, WebSocket: WebSocket as unknown as SocketConstructor };
  snapshot = await preload(options, (client) => [
    createChat(client, "t-1").state,
    client.agentState("t-1"),
    client.subscription(headline),
  ]);
  const before = gateway.connections;
  rendered = await renderOnServer(url, snapshot);
  opened = gateway.connections - before;
  await gateway.stop();
}, 60_000);

describe.each(["React", "Vue", "Solid", "Svelte"])("%s: a page of a server", (name) => {
  it("is loading where there is no snapshot", () => {
    const target = document.createElement("div");
    target.innerHTML = (rendered[name] as Rendered).empty;

    const shown = [...target.querySelectorAll("h1, li, p")].map((one) => one.textContent);

    expect(shown).toEqual(["untitled", "loading"]);
  });

  it("SDK-09 shows a snapshot without a socket; the browser shows the same, then what comes", async () => {
    const gateway = fill(await startGateway());
    const { html, connection } = rendered[name] as Rendered;
    const target = document.createElement("div");
    // The script of the page has run by the time that it is taken over.
    target.innerHTML = html.replace(/^<script>.*<\/script>/, "");
    const shown = () => [...target.querySelectorAll("h1, li, p")].map((one) => one.textContent);
    expect({ connection, opened }).toEqual({ connection: "idle", opened: 0 });
    expect(shown()).toEqual(["Greetings", "hi", "hello", "completed"]);
    const first = target.querySelector("li");
    const frames: string[] = [];
    const observer = new MutationObserver(() => frames.push(shown().join()));
    observer.observe(target, { subtree: true, childList: true, characterData: true });
    const complaints = [vi.spyOn(console, "error"), vi.spyOn(console, "warn")];

    const leave = (HYDRATE[name] as Hydrate)(connect(gateway, { snapshot, speed: 10 }), target);
    await waitUntil(() => gateway.got("subscribe").length === 3, "it watches");
    gateway.commit("t-1", [aMessage({ seq: 3, text: "and?" })], aThread({ status: "running" }));
    await waitUntil(() => shown().join() === "Greetings,hi,hello,and?,running", "what comes shows");

    expect(target.querySelector("li")).toBe(first);
    expect(frames.every((frame) => frame.startsWith("Greetings,hi,hello,"))).toBe(true);
    expect(gateway.got("subscribe").every(({ cursor }) => cursor !== undefined)).toBe(true);
    for (const complaint of complaints) expect(complaint).not.toHaveBeenCalled();
    observer.disconnect();
    leave();
    await waitUntil(() => gateway.subscriptions.length === 0, "all is let go");
  });
});

describe.each(["React waiting", "Solid waiting"])("%s: a boundary on a server", (name) => {
  it.each(["html", "empty"] as const)(
    "shows what is known, and the browser the rest: %s",
    async (kind) => {
      const gateway = fill(await startGateway());
      const target = document.createElement("div");
      target.innerHTML = (rendered[name] as Rendered)[kind];
      const known = kind === "html";
      expect(target.textContent).toBe(known ? "News" : name.startsWith("React") ? "waiting" : "");
      const first = target.querySelector("p");

      const client = connect(gateway, { ...(known && { snapshot }), speed: 10 });
      const leave = (HYDRATE[name] as Hydrate)(client, target);
      await waitUntil(() => target.textContent === "News", "it is there");
      gateway.answer(HEADLINE, "More news");
      await waitUntil(() => target.textContent === "More news", "the next is there");

      if (known) expect(target.querySelector("p")).toBe(first);
      leave();
    },
  );
});

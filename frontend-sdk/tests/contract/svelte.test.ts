// @vitest-environment happy-dom
/** The contract, over Svelte's own renderer; and what only Svelte can do wrong. */

import { flushSync, mount as render, unmount } from "svelte";
import { derived } from "svelte/store";
import { describe, expect, it } from "vitest";
import {
  action,
  agent,
  agentChat,
  agentState,
  approvals,
  connection,
  mutation,
  query,
  subscription,
} from "../../src/svelte/index.js";
import { aMessage, aThread } from "../support/builders.js";
import LegacyPage from "../support/legacy-svelte.svelte";
import { mount } from "../support/mount-svelte.svelte.js";
import { articles, orders } from "../support/orders.js";
import SveltePage from "../support/pages/svelte-page.svelte";
import { showParts } from "../support/parts-svelte.js";
import { api, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { approvalsContract } from "./approvals-suite.js";
import { functionsContract, oneOrder, ship } from "./functions-suite.js";
import { partsContract } from "./parts-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";

const svelte: Adapter = {
  name: "Svelte",
  chat: (client, first) =>
    mount(client, first, (given) => agentChat(api, () => CALL_OPTIONS(given()))),
  agent: (client, first) =>
    mount(client, first, (given) => agent(api, () => CALL_OPTIONS(given()))),
  state: (client, first) =>
    mount(client, first, (given) => agentState(() => ({ api, threadKey: given().threadKey }))),
  messages: (client, first) =>
    mount(client, first, (given) =>
      subscription(api.agents.agentMessages, () => ({ key: given().threadKey })),
    ),
  connection: (client, first) =>
    mount(client, first, () => {
      const shown = connection();
      return {
        subscribe: shown.subscribe,
        get name() {
          return shown.current.name;
        },
      };
    }),
};

contract(svelte);

approvalsContract("Svelte", (client, first) =>
  mount(client, first, (given) => approvals(() => ({ api, ...given() }))),
);

partsContract("Svelte", showParts);

functionsContract({
  name: "Svelte",
  one: (client, first) =>
    mount(client, first, (given) =>
      query(oneOrder, () => (given().id ? { id: given().id } : "skip")),
    ),
  page: (client, first) =>
    mount(client, first, (given) => {
      const list = query(orders.list);
      const place = mutation(orders.place, {
        optimistic: (local, args) => given().optimistic(local, args),
      });
      const { subscribe } = derived([list, place], ([{ value }, calls]) => ({
        shown: articles(value),
        ...calls,
      }));
      return {
        subscribe,
        place,
        ship: action(ship),
        get shown() {
          return articles(list.value);
        },
        get pending() {
          return place.pending;
        },
        get error() {
          return place.error;
        },
      };
    }),
});

describe("Svelte alone", () => {
  it("SDK-09 is a store in components without runes, and never one thread's under another's key", async () => {
    const gateway = await startGateway();
    for (const key of ["a", "b"]) {
      gateway.commit(key, [aMessage({ seq: 1, text: key })], aThread({ key }));
    }
    const target = document.createElement("div");
    const seen: string[] = [];
    const observer = new MutationObserver(() => seen.push(target.textContent ?? ""));
    observer.observe(target, { subtree: true, childList: true, characterData: true });
    const props = { client: connect(gateway, { speed: 50 }), api, threadKey: "a" };
    const page = render(LegacyPage, { target, props }) as { show: (key: string) => void };
    await waitUntil(() => target.textContent === "a: a open", "the first is there");

    for (const key of ["b", "a", "b"]) {
      page.show(key);
      flushSync();
      seen.push(target.textContent ?? "");
    }
    await waitUntil(() => target.textContent === "b: b open", "the second is there");

    for (const text of seen) expect(text).toMatch(/^(a: a?|b: b?) (idle|dialing|greeting|open)$/);
    observer.disconnect();
    unmount(page);
    await waitUntil(() => gateway.subscriptions.length === 0, "all is let go");
  });

  it("is a store outside of components, which watches while it is subscribed to", async () => {
    const gateway = await startGateway();
    gateway.setState("a", "of a");
    let view: ReturnType<typeof agentState> | undefined;
    const client = connect(gateway, { speed: 50 });
    const page = mount(client, {}, () => {
      view = agentState({ api, threadKey: "a" });
      return derived([], () => ({}));
    });
    const seen: unknown[] = [];
    expect(client.connection.get().name).toBe("idle");

    const stop = view?.subscribe(({ state }) => seen.push(state));
    expect(seen).toEqual([undefined]);
    await waitUntil(() => seen.at(-1) === "of a", "it is there");
    page.unmount();
    gateway.setState("a", "more of a");
    await waitUntil(() => seen.at(-1) === "more of a", "the change is there");
    stop?.();

    expect(seen).toEqual([undefined, "of a", "more of a"]);
    await waitUntil(() => gateway.subscriptions.length === 0, "it is let go");
  });

  it("says what is missing when there is no client", () => {
    const target = document.createElement("div");
    const show = () => render(SveltePage, { target, props: { client: undefined } });

    expect(show).toThrow("setClient(client)");
  });
});

// @vitest-environment happy-dom
/** The contract, over Solid's own renderer; and what only Solid can do wrong. */

import { createRoot } from "solid-js";
import { describe, expect, it } from "vitest";
import {
  createAction,
  createAgent,
  createAgentChat,
  createAgentState,
  createApprovals,
  createConnection,
  createMutation,
  createQuery,
  createSubscription,
  useClient,
} from "../../src/solid/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { mount } from "../support/mount-solid.js";
import { articles, orders } from "../support/orders.js";
import { showParts } from "../support/parts-solid.jsx";
import { api, connect, startGateway } from "../support/setup.js";
import { showOrder } from "../support/suspense-solid.jsx";
import { showInTransition } from "../support/transition-solid.jsx";
import { waitUntil } from "../support/wait-until.js";
import { approvalsContract } from "./approvals-suite.js";
import { functionsContract, oneOrder, ship } from "./functions-suite.js";
import { partsContract } from "./parts-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";
import { suspenseContract } from "./suspense-suite.js";

const solid: Adapter = {
  name: "Solid",
  chat: (client, first) =>
    mount(client, first, (given) => createAgentChat(api, () => CALL_OPTIONS(given()))),
  agent: (client, first) =>
    mount(client, first, (given) => createAgent(api, () => CALL_OPTIONS(given()))),
  state: (client, first) =>
    mount(client, first, (given) =>
      createAgentState(() => ({ api, threadKey: given().threadKey })),
    ),
  messages: (client, first) =>
    mount(client, first, (given) =>
      createSubscription(api.agents.agentMessages, () => ({ key: given().threadKey })),
    ),
  connection: (client, first) =>
    mount(client, first, () => {
      const connection = createConnection();
      return {
        get name() {
          return connection().name;
        },
      };
    }),
};

contract(solid);

approvalsContract("Solid", (client, first) =>
  mount(client, first, (given) => createApprovals(() => ({ api, ...given() }))),
);

partsContract("Solid", showParts);

functionsContract({
  name: "Solid",
  one: (client, first) =>
    mount(client, first, (given) =>
      createQuery(oneOrder, () => (given().id ? { id: given().id } : "skip")),
    ),
  page: (client, first) =>
    mount(client, first, (given) => {
      const list = createQuery(orders.list);
      const place = createMutation(orders.place, {
        optimistic: (local, args) => given().optimistic(local, args),
      });
      return {
        get shown() {
          return articles(list.value);
        },
        place,
        ship: createAction(ship),
        get pending() {
          return place.pending;
        },
        get error() {
          return place.error;
        },
      };
    }),
});

suspenseContract("Solid", showOrder);

describe("Solid alone", () => {
  it("B96 keeps a thread live through a transition, and shows nothing of it under the next key", async () => {
    const gateway = await startGateway();
    for (const key of ["a", "b"]) {
      gateway.commit(key, [aMessage({ seq: 1, text: `${key}1` })], aThread({ key }));
    }
    const target = document.createElement("div");
    const seen: string[] = [];
    const observer = new MutationObserver(() => seen.push(target.textContent ?? ""));
    observer.observe(target, { subtree: true, childList: true, characterData: true });
    const page = showInTransition(connect(gateway, { speed: 50 }), target);
    await waitUntil(() => target.textContent === "a a: a1 ", "the first is there");

    page.to("b");
    const said = { run: "r-1", turn: 1, part: 0, kind: "text", attempt: 100 } as const;
    gateway.token("a", { ...said, offset: 0, text: "live" });
    await waitUntil(() => target.textContent === "a a: a1 live", "it is live");
    page.arrive();
    await waitUntil(() => target.textContent === "b b: b1 ", "the second is there");

    for (const text of seen) expect(text).toMatch(/^(a a: (a1)? (live)?|b b: (b1)? )$/);
    observer.disconnect();
    page.leave();
    await waitUntil(() => gateway.subscriptions.length === 0, "both are let go");
  });

  it("says what is missing when there is no provider", () => {
    expect(() => createRoot(useClient)).toThrow("RopewalkProvider");
  });
});

// @vitest-environment happy-dom
/** The contract, over Svelte's own renderer; and what only Svelte can do wrong. */

import { derived } from "svelte/store";
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
import { mount } from "../support/mount-svelte.svelte.js";
import { articles, orders } from "../support/orders.js";
import { showParts } from "../support/parts-svelte.js";
import { api } from "../support/setup.js";
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

// @vitest-environment happy-dom
/** The contract, over Svelte's own renderer; and what only Svelte can do wrong. */

import { agent, agentChat, agentState, approvals, subscription } from "../../src/svelte/index.js";
import { mount } from "../support/mount-svelte.svelte.js";
import { api } from "../support/setup.js";
import { approvalsContract } from "./approvals-suite.js";
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
};

contract(svelte);

approvalsContract("Svelte", (client, first) =>
  mount(client, first, (given) => approvals(() => ({ api, ...given() }))),
);

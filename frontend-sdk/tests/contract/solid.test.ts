// @vitest-environment happy-dom
/** The contract, over Solid's own renderer; and what only Solid can do wrong. */

import {
  createAgent,
  createAgentChat,
  createAgentState,
  createApprovals,
  createSubscription,
} from "../../src/solid/index.js";
import { mount } from "../support/mount-solid.js";
import { api } from "../support/setup.js";
import { approvalsContract } from "./approvals-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";

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
};

contract(solid);

approvalsContract("Solid", (client, first) =>
  mount(client, first, (given) => createApprovals(() => ({ api, ...given() }))),
);

// @vitest-environment happy-dom
/** The contract, over Vue's own renderer; and what only Vue can do wrong. */

import { computed } from "vue";
import {
  useAction,
  useAgent,
  useAgentChat,
  useAgentState,
  useApprovals,
  useConnection,
  useMutation,
  useQuery,
  useSubscription,
} from "../../src/vue/index.js";
import { mount } from "../support/mount-vue.js";
import { articles, orders } from "../support/orders.js";
import { showParts } from "../support/parts-vue.js";
import { api } from "../support/setup.js";
import { approvalsContract } from "./approvals-suite.js";
import { functionsContract, oneOrder, ship } from "./functions-suite.js";
import { partsContract } from "./parts-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";

const vue: Adapter = {
  name: "Vue",
  chat: (client, first) =>
    mount(client, first, (given) => useAgentChat(api, () => CALL_OPTIONS(given()))),
  agent: (client, first) =>
    mount(client, first, (given) => useAgent(api, () => CALL_OPTIONS(given()))),
  state: (client, first) =>
    mount(client, first, (given) => useAgentState(() => ({ api, threadKey: given().threadKey }))),
  messages: (client, first) =>
    mount(client, first, (given) =>
      useSubscription(api.agents.agentMessages, () => ({ key: given().threadKey })),
    ),
  connection: (client, first) =>
    mount(client, first, () => {
      const connection = useConnection();
      return { name: computed(() => connection.value.name) };
    }),
};

contract(vue);

approvalsContract("Vue", (client, first) =>
  mount(client, first, (given) => useApprovals(() => ({ api, ...given() }))),
);

partsContract("Vue", showParts);

functionsContract({
  name: "Vue",
  one: (client, first) =>
    mount(client, first, (given) => {
      const id = computed(() => given().id);
      return useQuery(oneOrder, () => (id.value ? { id: id.value } : "skip"));
    }),
  page: (client, first) =>
    mount(client, first, (given) => {
      const { value } = useQuery(orders.list);
      const place = useMutation(orders.place, {
        optimistic: (local, args) => given().optimistic(local, args),
      });
      const { pending, error } = place;
      return {
        shown: computed(() => articles(value.value)),
        place,
        ship: useAction(ship),
        pending,
        error,
      };
    }),
});

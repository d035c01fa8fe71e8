// @vitest-environment happy-dom
/** The contract, over Vue's own renderer; and what only Vue can do wrong. */

import { describe, expect, it } from "vitest";
import {
  computed,
  createApp,
  effectScope,
  h,
  KeepAlive,
  nextTick,
  ref,
  Suspense,
  shallowRef,
} from "vue";
import {
  ropewalk,
  useAction,
  useAgent,
  useAgentChat,
  useAgentState,
  useApprovals,
  useClient,
  useConnection,
  useMutation,
  useQuery,
  useSubscription,
} from "../../src/vue/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { mount } from "../support/mount-vue.js";
import { articles, orders } from "../support/orders.js";
import { showParts } from "../support/parts-vue.js";
import { api, CALLS, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
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

describe("Vue alone", () => {
  it("shows in a component that was kept alive, the moment it is back, what came meanwhile", async () => {
    const gateway = await startGateway();
    for (const key of ["a", "b"]) {
      gateway.commit(key, [aMessage({ seq: 1, text: `${key}1` })], aThread({ key }));
    }
    const shown = ref("a");
    const Chat = (threadKey: string) => ({
      setup() {
        const { messages } = useAgentChat(api, { threadKey, ...CALLS });
        return () => messages.value.map(({ text }) => text).join();
      },
    });
    const chats = { a: Chat("a"), b: Chat("b") };
    const app = createApp(() => h(KeepAlive, () => h(chats[shown.value as "a" | "b"])));
    const target = document.createElement("div");
    app.use(ropewalk(connect(gateway, { speed: 50 }))).mount(target);
    await waitUntil(() => target.textContent === "a1", "the first is there");
    shown.value = "b";
    await waitUntil(() => target.textContent === "b1", "the second is there");

    gateway.commit("a", [aMessage({ seq: 2, text: "a2" })]);
    gateway.commit("b", [aMessage({ seq: 2, text: "b2" })]);
    await waitUntil(() => target.textContent === "b1,b2", "more has come");
    shown.value = "a";
    await nextTick();

    expect(target.textContent).toBe("a1,a2");
    expect(gateway.got("subscribe")).toHaveLength(4);
    app.unmount();
    await waitUntil(() => gateway.subscriptions.length === 0, "all is let go");
  });

  it("lets go of what a boundary waited for, and never showed", async () => {
    const gateway = await startGateway();
    const Late = {
      async setup() {
        const { state } = useAgentState({ api, threadKey: "a" });
        await new Promise(() => {});
        return () => state.value;
      },
    };
    const here = ref(true);
    const app = createApp(() => h(Suspense, () => (here.value ? h(Late) : h("p"))));
    const target = document.createElement("div");
    app.use(ropewalk(connect(gateway, { speed: 50 }))).mount(target);
    await waitUntil(() => gateway.subscriptions.length === 1, "it is watched");

    here.value = false;

    await waitUntil(() => gateway.subscriptions.length === 0, "it is let go");
    app.unmount();
  });

  it("follows options that are a ref, and lets go with the scope that it was made in", async () => {
    const gateway = await startGateway();
    gateway.setState("a", "of a");
    gateway.setState("b", "of b");
    const options = shallowRef({ api, threadKey: "a" });
    const app = createApp({}).use(ropewalk(connect(gateway, { speed: 50 })));
    const scope = effectScope();
    const { state } = scope.run(() => app.runWithContext(() => useAgentState(options))) ?? {};
    await waitUntil(() => state?.value === "of a", "the first is there");

    options.value = { api, threadKey: "b" };
    expect(state?.value).toBeUndefined();
    await waitUntil(() => state?.value === "of b", "the second is there");
    scope.stop();

    await waitUntil(() => gateway.subscriptions.length === 0, "both are let go");
  });

  it("says what is missing when there is no plugin", () => {
    expect(() => createApp({}).runWithContext(useClient)).toThrow("app.use(ropewalk(client))");
  });
});

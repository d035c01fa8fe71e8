// @vitest-environment happy-dom
/** The contract, over React's own renderer in strict mode; and what only React can do wrong. */

import { createElement } from "react";
import { flushSync as flush } from "react-dom";
import { createRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { createChat } from "../../src/core/index.js";
import {
  RopewalkProvider,
  useAction,
  useAgent,
  useAgentChat,
  useAgentState,
  useApprovals,
  useConnection,
  useMutation,
  useQuery,
  useReadable,
  useSubscription,
} from "../../src/react/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { mount } from "../support/mount-react.js";
import { articles, orders } from "../support/orders.js";
import { api, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { approvalsContract } from "./approvals-suite.js";
import { functionsContract, oneOrder, ship } from "./functions-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";

const react: Adapter = {
  name: "React",
  chat: (client, first) =>
    mount(client, first, (options) => useAgentChat(api, CALL_OPTIONS(options))),
  agent: (client, first) => mount(client, first, (options) => useAgent(api, CALL_OPTIONS(options))),
  state: (client, first) =>
    mount(client, first, ({ threadKey }) => useAgentState({ api, threadKey })),
  messages: (client, first) =>
    mount(client, first, ({ threadKey }) =>
      useSubscription(api.agents.agentMessages, { key: threadKey }),
    ),
};

contract(react);

approvalsContract("React", (client, first) =>
  mount(client, first, (given) => useApprovals({ api, ...given })),
);

functionsContract({
  name: "React",
  one: (client, first) =>
    mount(client, first, ({ id }) => useQuery(oneOrder, id ? { id } : "skip")),
  page: (client, first) =>
    mount(client, first, ({ optimistic }) => {
      const { value } = useQuery(orders.list);
      const place = useMutation(orders.place, { optimistic });
      return { shown: articles(value), place, ship: useAction(ship), ...useReadable(place.state) };
    }),
});

describe("React alone", () => {
  it("keeps the actions the same functions, so that effects do not run again", async () => {
    const gateway = await startGateway();
    const chat = react.chat(connect(gateway), { threadKey: "t-1" });
    const { send, cancel } = chat.now();

    chat.show({ threadKey: "t-1", runArgs: { mode: "quick" } });
    await waitUntil(() => chat.now().status === "idle", "the thread is known");

    expect(chat.now().send).toBe(send);
    expect(chat.now().cancel).toBe(cancel);
  });

  it("keeps messages the same objects that did not change, so that their bubbles stay as they are", async () => {
    const gateway = await startGateway();
    gateway.commit("t-1", [aMessage({ seq: 1 })], aThread());
    const chat = react.chat(connect(gateway), { threadKey: "t-1" });
    await waitUntil(() => chat.now().messages.length === 1, "the first is there");
    const [first] = chat.now().messages;

    gateway.commit("t-1", [aMessage({ seq: 2 })]);
    await waitUntil(() => chat.now().messages.length === 2, "the second is there");
    const before = chat.now().messages;
    gateway.token("t-1", {
      run: "r-2",
      turn: 0,
      part: 0,
      kind: "text",
      offset: 0,
      text: "x",
      attempt: 100,
    });
    await waitUntil(() => chat.now().streamingText === "x", "text comes");

    expect(chat.now().messages[0]).toBe(first);
    expect(chat.now().messages).toBe(before);
  });

  it("shows the same in two places at every commit", async () => {
    const gateway = await startGateway();
    gateway.commit("t-1", [], aThread());
    const Count = () =>
      createElement(
        "p",
        null,
        useAgentChat(api, CALL_OPTIONS({ threadKey: "t-1" })).messages.length,
      );
    const container = document.createElement("div");
    const root = createRoot(container);
    const tree = [createElement(Count, { key: 1 }), createElement(Count, { key: 2 })];
    flush(() => root.render(createElement(RopewalkProvider, { client: connect(gateway) }, tree)));
    const seen: string[] = [];
    const observer = new MutationObserver(() => seen.push(container.textContent ?? ""));
    observer.observe(container, { subtree: true, childList: true, characterData: true });

    for (let seq = 1; seq <= 9; seq += 1) gateway.commit("t-1", [aMessage({ seq })]);
    await waitUntil(() => container.textContent === "99", "both have all");

    expect(seen.length).toBeGreaterThan(0);
    expect(seen.every((text) => text[0] === text[1])).toBe(true);
    root.unmount();
  });

  it("renders on a server without a socket", async () => {
    const gateway = await startGateway();
    const Status = () =>
      createElement("p", null, useAgentChat(api, CALL_OPTIONS({ threadKey: "t-1" })).status);
    const client = connect(gateway);

    const html = renderToString(createElement(RopewalkProvider, { client }, createElement(Status)));

    expect(html).toBe("<p>loading</p>");
    expect(client.connection.get().name).toBe("idle");
    expect(gateway.connections).toBe(0);
  });

  it("says where the connection stands, without making one", async () => {
    const gateway = await startGateway();
    const client = connect(gateway);
    const connection = mount(client, { threadKey: "t-1" }, () => useConnection());
    expect(connection.now().name).toBe("idle");

    createChat(client, "t-1").state.subscribe(() => {});
    await waitUntil(() => connection.now().name === "open", "it is open");
    connection.unmount();
  });

  it("says what is missing when there is no provider", () => {
    const Lost = () => createElement("p", null, useConnection().name);

    expect(() => renderToString(createElement(Lost))).toThrow("RopewalkProvider");
  });
});

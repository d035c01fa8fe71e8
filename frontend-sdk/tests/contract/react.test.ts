// @vitest-environment happy-dom
/** The contract, over React's own renderer in strict mode; and what only React can do wrong. */

import { createElement, startTransition, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Cell } from "../../src/core/store.js";
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
import { mount } from "../support/mount-react.js";
import { articles, orders } from "../support/orders.js";
import { showParts } from "../support/parts-react.js";
import { api, connect, startGateway } from "../support/setup.js";
import { showOrder } from "../support/suspense-react.js";
import { waitUntil } from "../support/wait-until.js";
import { approvalsContract } from "./approvals-suite.js";
import { functionsContract, oneOrder, ship } from "./functions-suite.js";
import { partsContract } from "./parts-suite.js";
import { type Adapter, CALL_OPTIONS, contract } from "./suite.js";
import { suspenseContract } from "./suspense-suite.js";

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
  connection: (client, first) => mount(client, first, () => useConnection()),
};

contract(react);

approvalsContract("React", (client, first) =>
  mount(client, first, (given) => useApprovals({ api, ...given })),
);

partsContract("React", showParts);

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

suspenseContract("React", showOrder);

describe("React alone", () => {
  it("does what a child's layout effect asks for by the options of that very render", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", () => ({ id: "r-1" }));
    const client = connect(gateway);
    let send: (input: string) => Promise<unknown>;
    const Child = ({ mode }: { readonly mode: string }) => {
      useLayoutEffect(() => void send(mode), [mode]);
      return null;
    };
    const Page = ({ mode }: { readonly mode: string }) => {
      const run = { run: api.chat.startRun, runArgs: { mode } };
      send = useAgentChat(api, { threadKey: "t-1", ...run }).send;
      return createElement(Child, { mode });
    };
    const root = createRoot(document.createElement("div"));
    const show = (mode: string) =>
      root.render(createElement(RopewalkProvider, { client }, createElement(Page, { mode })));

    for (const mode of ["slow", "fast"]) {
      show(mode);
      await waitUntil(
        () => gateway.got("call").some(({ args }) => args?.["input"] === mode),
        `${mode} is asked for`,
      );
    }
    root.unmount();

    expect(gateway.got("call").map(({ args }) => args?.["mode"])).toEqual(["slow", "fast"]);
  });

  it("commits one state of a store, though it changes while a transition is being drawn", async () => {
    const cell = new Cell(1);
    const Value = () => createElement("b", null, useReadable(cell));
    const Meanwhile = () => {
      cell.set(2);
      return null;
    };
    const container = document.createElement("div");
    const root = createRoot(container);
    const seen: (string | null)[] = [];
    const observer = new MutationObserver(() => seen.push(container.textContent));
    observer.observe(container, { subtree: true, childList: true, characterData: true });

    const page = createElement(
      "div",
      null,
      createElement(Value),
      createElement(Meanwhile),
      createElement(Value),
    );
    startTransition(() => root.render(page));
    await waitUntil(() => container.textContent !== "", "it is drawn");

    expect(seen).toEqual(["22"]);
    root.unmount();
  });

  it("says what is missing when there is no provider", () => {
    const Lost = () => createElement("p", null, useConnection().name);

    expect(() => renderToString(createElement(Lost))).toThrow("RopewalkProvider");
  });
});

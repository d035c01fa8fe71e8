// @vitest-environment happy-dom
/** Queries, mutations and actions as hooks, in strict mode. */

import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { action, canonicalId, type LocalStore, query } from "../../src/core/index.js";
import {
  RopewalkProvider,
  useAction,
  useMutation,
  useQuery,
  useReadable,
} from "../../src/react/index.js";
import { Refusal } from "../support/gateway.js";
import { mount } from "../support/mount-react.js";
import { anOrder, appended, articles, LIST, type Order, orders } from "../support/orders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const oneOrder = query<{ id: string }, Order>("orders:one");
const ship = action<{ id: string }, boolean>("orders:ship");

/** A page that shows the list and adds to it. */
function useOrders() {
  const { value } = useQuery(orders.list);
  const place = useMutation(orders.place, {
    optimistic: (local: LocalStore, args) => appended(local, args),
  });
  return { shown: articles(value), place, ...useReadable(place.state) };
}

describe("useQuery", () => {
  it("follows its arguments, and never shows one answer under the arguments of another", async () => {
    const gateway = await startGateway();
    for (const id of ["1", "2"]) gateway.answer(canonicalId(oneOrder, { id }), anOrder("tea", id));
    const page = mount(connect(gateway), { id: "1" }, ({ id }) => useQuery(oneOrder, { id }));
    await waitUntil(() => page.now().value?.id === "1", "the first is there");

    page.show({ id: "2" });
    expect(page.now()).toMatchObject({ value: undefined, loading: true });
    await waitUntil(() => page.now().value?.id === "2", "the second is there");

    for (const { options, value } of page.frames) {
      expect([undefined, options.id]).toContain(value.value?.id);
    }
    page.unmount();
    await waitUntil(() => gateway.subscriptions.length === 0, "both are let go");
  });

  it("asks for nothing while it is skipped", async () => {
    const gateway = await startGateway();
    gateway.answer(canonicalId(oneOrder, { id: "1" }), anOrder("tea", "1"));
    const client = connect(gateway);
    const page = mount(client, { id: "" }, ({ id }) => useQuery(oneOrder, id ? { id } : "skip"));
    expect(page.now()).toEqual({ value: undefined, error: undefined, loading: false });
    expect(client.connection.get().name).toBe("idle");

    page.show({ id: "1" });
    await waitUntil(() => page.now().value?.id === "1", "it is there");
    page.show({ id: "" });

    expect(page.now().value).toBeUndefined();
    expect(gateway.got("subscribe")).toHaveLength(1);
  });

  it("is loading on a server that renders, without a socket", async () => {
    const gateway = await startGateway();
    const Page = () => createElement("p", null, String(useQuery(orders.list).loading));
    const client = connect(gateway);

    const html = renderToString(createElement(RopewalkProvider, { client }, createElement(Page)));

    expect(html).toBe("<p>true</p>");
    expect(gateway.connections).toBe(0);
  });
});

describe("useMutation", () => {
  it("shows what it will change at once, once, and says that it is on its way", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(orders.place, ({ article }) => {
      gateway.answer(LIST, [anOrder("tea"), anOrder(article as string)]);
      return { id: "id-of-jam" };
    });
    const page = mount(connect(gateway), {}, useOrders);
    await waitUntil(() => page.now().shown !== undefined, "the list is there");

    const before = page.frames.length;
    expect(await page.now().place({ article: "jam" })).toEqual({ id: "id-of-jam" });
    await waitUntil(() => !page.now().pending, "it has its answer");

    expect(gateway.got("call")).toHaveLength(1);
    const frames = page.frames.slice(before).map(({ value }) => value);
    expect(frames.map(({ shown }) => shown)).toEqual(frames.map(() => ["tea", "jam"]));
    expect(frames[0]?.pending).toBe(true);
  });

  it("is the same function in every render, and takes the newest optimistic update", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, []);
    gateway.handlers.set(orders.place, () => ({ id: "1" }));
    const seen: string[] = [];
    const page = mount(connect(gateway), { word: "old" }, ({ word }) =>
      useMutation(orders.place, { optimistic: () => seen.push(word) }),
    );
    const place = page.now();

    page.show({ word: "new" });
    await page.now()({ article: "jam" });

    expect(page.now()).toBe(place);
    expect(seen).toEqual(["new"]);
  });

  it("gives the error of the last call until the next", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(orders.place, () => {
      throw new Refusal("CONFLICT", "sold out");
    });
    const page = mount(connect(gateway), {}, useOrders);
    await waitUntil(() => page.now().shown !== undefined, "the list is there");

    await expect(page.now().place({ article: "jam" })).rejects.toMatchObject({ code: "CONFLICT" });
    await waitUntil(() => page.now().error?.message === "sold out", "the page knows");

    expect(page.now()).toMatchObject({ shown: ["tea"], pending: false });
  });

  it("goes through though the page that called it is gone", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, []);
    gateway.handlers.set(orders.place, () => ({ id: "1" }));
    const page = mount(connect(gateway), {}, useOrders);

    const placed = page.now().place({ article: "jam" });
    page.unmount();

    expect(await placed).toEqual({ id: "1" });
  });
});

describe("useAction", () => {
  it("calls once, and is the same function in every render", async () => {
    const gateway = await startGateway();
    gateway.handlers.set(ship, () => true);
    const page = mount(connect(gateway), {}, () => useAction(ship));
    const first = page.now();

    page.show({});

    expect(page.now()).toBe(first);
    expect(await first({ id: "1" })).toBe(true);
    expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([[ship, { id: "1" }]]);
  });
});

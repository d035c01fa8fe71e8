/** What every adapter's queries, mutations and actions promise. */

import { describe, expect, it } from "vitest";
import {
  type ActionRef,
  action,
  type Caller,
  type CallState,
  type ChatClient,
  canonicalId,
  type LocalStore,
  type QueryRef,
  query,
  type SubscriptionView,
} from "../../src/core/index.js";
import { Refusal } from "../support/gateway.js";
import { anOrder, appended, LIST, type Order, orders } from "../support/orders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import type { Mounted } from "./suite.js";

export const oneOrder: QueryRef<{ id: string }, Order> = query("orders:one");
export const ship: ActionRef<{ id: string }, boolean> = action("orders:ship");

export interface PageGiven {
  readonly optimistic: (local: LocalStore, args: { readonly article: string }) => void;
}

/** A page that lists the orders' articles, and places and ships them; how placing stands. */
export interface Page extends CallState {
  readonly shown: readonly string[] | undefined;
  readonly place: Caller<{ article: string }, { id: string }>;
  readonly ship: Caller<{ id: string }, boolean>;
}

export interface FunctionsAdapter {
  readonly name: string;
  /** One order; `"skip"` while the id is empty. */
  readonly one: (
    client: ChatClient,
    first: { id: string },
  ) => Mounted<SubscriptionView<Order>, { id: string }>;
  readonly page: (client: ChatClient, first: PageGiven) => Mounted<Page, PageGiven>;
}

export function functionsContract(adapter: FunctionsAdapter): void {
  const page = (client: ChatClient) => adapter.page(client, { optimistic: appended });

  describe(`${adapter.name}: a query`, () => {
    it("SDK-13 follows its arguments, and never shows one answer under those of another", async () => {
      const gateway = await startGateway();
      for (const id of ["1", "2"]) {
        gateway.answer(canonicalId(oneOrder, { id }), anOrder("tea", id));
      }
      const one = adapter.one(connect(gateway), { id: "1" });
      await waitUntil(() => one.now().value?.id === "1", "the first is there");

      one.show({ id: "2" });
      expect(one.now()).toMatchObject({ value: undefined, loading: true });
      await waitUntil(() => one.now().value?.id === "2", "the second is there");

      for (const { options, value } of one.frames) {
        expect([undefined, options.id]).toContain(value.value?.id);
      }
      one.unmount();
      await waitUntil(() => gateway.subscriptions.length === 0, "both are let go");
    });

    it("asks for nothing while it is skipped", async () => {
      const gateway = await startGateway();
      gateway.answer(canonicalId(oneOrder, { id: "1" }), anOrder("tea", "1"));
      const client = connect(gateway);
      const one = adapter.one(client, { id: "" });
      expect(one.now()).toEqual({ value: undefined, error: undefined, loading: false });
      expect(client.connection.get().name).toBe("idle");

      one.show({ id: "1" });
      await waitUntil(() => one.now().value?.id === "1", "it is there");
      one.show({ id: "" });

      expect(one.now().value).toBeUndefined();
      expect(gateway.got("subscribe")).toHaveLength(1);
    });
  });

  describe(`${adapter.name}: a mutation`, () => {
    it("shows what it will change at once, once, and says that it is on its way", async () => {
      const gateway = await startGateway();
      gateway.answer(LIST, [anOrder("tea")]);
      let underway: Page | undefined;
      gateway.handlers.set(orders.place, ({ article }) => {
        underway = shop.now();
        gateway.answer(LIST, [anOrder("tea"), anOrder(article as string)]);
        return { id: "id-of-jam" };
      });
      const shop = page(connect(gateway));
      await waitUntil(() => shop.now().shown !== undefined, "the list is there");

      expect(await shop.now().place({ article: "jam" })).toEqual({ id: "id-of-jam" });
      await waitUntil(() => !shop.now().pending, "it has its answer");

      expect(gateway.got("call")).toHaveLength(1);
      expect(underway).toMatchObject({ shown: ["tea", "jam"], pending: true });
      const from = shop.frames.findIndex(({ value }) => value.shown?.includes("jam"));
      const seen = shop.frames.slice(from).map(({ value }) => value.shown);
      expect(seen).toEqual(seen.map(() => ["tea", "jam"]));
    });

    it("is the same function whatever changes, and takes the newest optimistic update", async () => {
      const gateway = await startGateway();
      gateway.answer(LIST, []);
      gateway.handlers.set(orders.place, () => ({ id: "1" }));
      const seen: string[] = [];
      const shop = adapter.page(connect(gateway), { optimistic: () => seen.push("old") });
      const { place } = shop.now();

      shop.show({ optimistic: () => seen.push("new") });
      await shop.now().place({ article: "jam" });

      expect(shop.now().place).toBe(place);
      expect(seen).toEqual(["new"]);
    });

    it("gives the error of the last call until the next", async () => {
      const gateway = await startGateway();
      gateway.answer(LIST, [anOrder("tea")]);
      gateway.handlers.set(orders.place, () => {
        throw new Refusal("CONFLICT", "sold out");
      });
      const shop = page(connect(gateway));
      await waitUntil(() => shop.now().shown !== undefined, "the list is there");

      await expect(shop.now().place({ article: "jam" })).rejects.toMatchObject({
        code: "CONFLICT",
      });
      await waitUntil(() => shop.now().error?.message === "sold out", "the page knows");

      expect(shop.now()).toMatchObject({ shown: ["tea"], pending: false });
    });

    it("goes through though the page that called it is gone", async () => {
      const gateway = await startGateway();
      gateway.answer(LIST, []);
      gateway.handlers.set(orders.place, () => ({ id: "1" }));
      const shop = page(connect(gateway));

      const placed = shop.now().place({ article: "jam" });
      shop.unmount();

      expect(await placed).toEqual({ id: "1" });
    });
  });

  describe(`${adapter.name}: an action`, () => {
    it("calls once, and is the same function whatever changes", async () => {
      const gateway = await startGateway();
      gateway.answer(LIST, []);
      gateway.handlers.set(ship, () => true);
      const shop = page(connect(gateway));
      const first = shop.now().ship;

      shop.show({ optimistic: appended });

      expect(shop.now().ship).toBe(first);
      expect(await first({ id: "1" })).toBe(true);
      expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([[ship, { id: "1" }]]);
    });
  });
}

/** Mutations with optimistic updates, over a real socket: what a person would see. */

import { describe, expect, it } from "vitest";
import type { ChatClient, LocalStore } from "../../src/core/index.js";
import { Refusal, type TestGateway } from "../support/gateway.js";
import { anOrder, appended, articles, COUNT, LIST, orders, watchList } from "../support/orders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function place(client: ChatClient, article: string): Promise<{ id: string }> {
  const optimistic = (local: LocalStore) => appended(local, { article });
  return client.mutate(orders.place, { article }, { optimistic });
}

/** A gateway on which a mutation commits a row, and what passes before its answer is up to `then`. */
async function shop(then: (gateway: TestGateway) => unknown = () => {}): Promise<TestGateway> {
  const gateway = await startGateway();
  let list = [anOrder("tea")];
  gateway.answer(LIST, list);
  gateway.answer(COUNT, 1);
  gateway.handlers.set(orders.place, async (args) => {
    const order = anOrder(args["article"] as string);
    list = [...list, order];
    gateway.answer(COUNT, list.length);
    gateway.answer(LIST, list);
    await then(gateway);
    return { id: order.id };
  });
  return gateway;
}

describe("an optimistic update", () => {
  it.each([
    ["in one read", (gateway: TestGateway) => gateway.together()],
    ["in two reads", () => pause(5)],
  ])(
    "shows at once and is its effect from one frame to the next, with both %s",
    async (_, then) => {
      const gateway = await shop(then);
      const client = connect(gateway);
      const { view, frames } = await watchList(client);
      const before = frames.length;

      const placed = place(client, "jam");
      expect(articles(view.get().value)).toEqual(["tea", "jam"]);
      expect(await placed).toEqual({ id: "id-of-jam" });

      expect(view.get().value).toEqual([anOrder("tea"), anOrder("jam")]);
      expect(frames.slice(before).map(articles)).toEqual([
        ["tea", "jam"],
        ["tea", "jam"],
      ]);
    },
  );

  it("goes when the call fails, and the value is the server's", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(orders.place, () => {
      throw new Refusal("FORBIDDEN", "not yours");
    });
    const client = connect(gateway);
    const { view, frames } = await watchList(client);

    await expect(place(client, "jam")).rejects.toMatchObject({ code: "FORBIDDEN" });

    expect(view.get()).toEqual({ value: [anOrder("tea")], error: undefined, loading: false });
    expect(frames.map(articles)).toEqual([["tea"], ["tea", "jam"], ["tea"]]);
  });

  it("lies over each new value of the server's while its call is on its way", async () => {
    let answer = (_?: unknown) => {};
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(
      orders.place,
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const client = connect(gateway);
    const { view } = await watchList(client);
    const placed = place(client, "jam");
    await waitUntil(() => gateway.got("call").length === 1, "it is on its way");

    gateway.answer(LIST, [anOrder("tea"), anOrder("bread")]);
    await waitUntil(() => view.get().value?.length === 3, "another's order shows");
    expect(articles(view.get().value)).toEqual(["tea", "bread", "jam"]);
    gateway.answer(LIST, [anOrder("tea"), anOrder("bread"), anOrder("jam")]);
    answer({ id: "id-of-jam" });
    await placed;

    expect(view.get().value?.at(-1)).toEqual(anOrder("jam"));
    expect(view.get().value).toHaveLength(3);
  });

  it("of several calls at once never shows an effect twice, whatever comes between the answers", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, []);
    const waiting: (() => void)[] = [];
    gateway.handlers.set(orders.place, () => new Promise<void>((resolve) => waiting.push(resolve)));
    const client = connect(gateway);
    const { view, frames } = await watchList(client);
    const placed = ["a", "b", "c"].map((article) => place(client, article));
    await waitUntil(() => waiting.length === 3, "all are on their way");

    gateway.answer(
      LIST,
      ["a", "b", "c"].map((article) => anOrder(article)),
    );
    for (const answer of waiting) {
      await pause(5);
      answer();
    }
    await Promise.all(placed);

    expect(articles(view.get().value)).toEqual(["a", "b", "c"]);
    expect(frames.map(articles)).toEqual([[], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]]);
  });

  it("changes two queries in one step, on the way up and on the way down", async () => {
    const gateway = await shop(() => pause(5));
    const client = connect(gateway);
    const count = client.subscription(orders.count, {});
    const seen: string[] = [];
    const { view } = await watchList(client);
    const look = () => seen.push(`${count.get().value} of ${view.get().value?.length}`);
    count.subscribe(look);
    await waitUntil(() => !count.get().loading, "the count is there");
    view.subscribe(look);

    await place(client, "jam");

    expect(new Set(seen)).toEqual(new Set(["1 of 1", "2 of 2"]));
  });

  it("of a query that nobody watches asks for nothing and shows when somebody does", async () => {
    let answer = (_?: unknown) => {};
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(
      orders.place,
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    const client = connect(gateway);
    const placed = place(client, "jam");
    await waitUntil(() => gateway.got("call").length === 1, "it is on its way");
    expect(gateway.got("subscribe")).toEqual([]);

    const { view } = await watchList(client);
    expect(articles(view.get().value)).toEqual(["tea", "jam"]);
    answer();
    await placed;

    expect(articles(view.get().value)).toEqual(["tea"]);
  });

  it("that throws at once keeps its call from being sent", async () => {
    const gateway = await shop();
    const client = connect(gateway);
    const { view } = await watchList(client);
    const optimistic = () => {
      throw new TypeError("no such thing");
    };

    await expect(client.mutate(orders.place, { article: "jam" }, { optimistic })).rejects.toThrow(
      "no such thing",
    );

    expect(gateway.got("call")).toEqual([]);
    expect(articles(view.get().value)).toEqual(["tea"]);
  });

  it("that throws later is given up and reported as uncaught, and its call goes on", async () => {
    const gateway = await shop();
    const uncaught: unknown[] = [];
    const after = (ms: number, then: () => void) => {
      const guarded = () => {
        try {
          then();
        } catch (thrown) {
          uncaught.push(thrown);
        }
      };
      const timer = setTimeout(guarded, ms);
      return () => clearTimeout(timer);
    };
    const client = connect(gateway, { environment: { after } });
    const { view } = await watchList(client);
    const optimistic = (local: LocalStore) => {
      if (local.get(orders.list, {})?.length !== 1) throw new TypeError("there is one no more");
      local.set(orders.list, {}, []);
    };
    gateway.handlers.set(orders.place, async () => {
      gateway.answer(LIST, [anOrder("tea"), anOrder("jam")]);
      await pause(80);
      return { id: "id-of-jam" };
    });

    const placed = client.mutate(orders.place, { article: "jam" }, { optimistic });
    expect(view.get().value).toEqual([]);
    await waitUntil(() => uncaught.length > 0, "it is reported");

    expect(articles(view.get().value)).toEqual(["tea", "jam"]);
    expect(await placed).toEqual({ id: "id-of-jam" });
    expect(uncaught).toMatchObject([{ message: "there is one no more" }]);
  });

  it("leaves others' data as fast as it was when no call is on its way", async () => {
    const gateway = await shop();
    const client = connect(gateway, { speed: 1 / 1_000 }); // timers do not fire in this test
    const { view } = await watchList(client);
    await place(client, "jam");

    gateway.answer(LIST, []);

    await waitUntil(() => view.get().value?.length === 0, "it shows without a timer");
  });
});

describe("a mutation that the connection fails", () => {
  it("takes effect once and is never seen twice, though the line was cut before its answer", async () => {
    let cuts = 0;
    const gateway = await shop((one) => {
      cuts += 1;
      one.cut();
    });
    const client = connect(gateway);
    const { view, frames } = await watchList(client);

    expect(await place(client, "jam")).toEqual({ id: "id-of-jam" });
    await waitUntil(() => view.get().value?.at(-1)?.id === "id-of-jam", "the effect is there");

    expect(cuts).toBe(1);
    expect(gateway.connections).toBe(2);
    expect(frames.every((list) => (list?.length ?? 0) <= 2)).toBe(true);
    expect(articles(view.get().value)).toEqual(["tea", "jam"]);
  });

  it("is never gone for a moment, though its answer comes before the queries of the new socket", async () => {
    const gateway = await shop((one) => {
      one.queryMs = 10;
      one.cut();
    });
    const client = connect(gateway);
    const { view, frames } = await watchList(client);
    const before = frames.length;

    await place(client, "jam");

    expect(view.get().value?.at(-1)?.id).toBe("id-of-jam");
    expect(frames.slice(before).map(articles)).toEqual([
      ["tea", "jam"],
      ["tea", "jam"],
    ]);
  });

  it("made offline stays on show until the server has answered it", async () => {
    const gateway = await shop();
    const client = connect(gateway, { speed: 100 });
    const { view } = await watchList(client);
    gateway.silent = true;
    gateway.cut();
    await waitUntil(() => client.connection.get().name !== "open", "it is offline");

    const placed = place(client, "jam");
    expect(articles(view.get().value)).toEqual(["tea", "jam"]);
    await waitUntil(() => gateway.connections > 2, "it tries to come back");
    expect(articles(view.get().value)).toEqual(["tea", "jam"]);
    gateway.silent = false;
    await placed;

    expect(view.get().value?.at(-1)?.id).toBe("id-of-jam");
  });

  it("is forgotten with its layer when somebody else signs in", async () => {
    let user = "ann";
    const gateway = await startGateway();
    gateway.judge = (token) => token ?? null;
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(orders.place, () => new Promise(() => {}));
    const client = connect(gateway, { token: () => user });
    const { view } = await watchList(client);
    const placed = place(client, "jam");
    await waitUntil(() => gateway.got("call").length === 1, "it is on its way");

    user = "ben";
    await Promise.all([
      expect(placed).rejects.toMatchObject({ code: "UNAUTHENTICATED" }),
      client.authenticate(),
    ]);
    await waitUntil(() => !view.get().loading, "the list is there again");

    expect(articles(view.get().value)).toEqual(["tea"]);
  });

  it("fails, and its layer goes, when the client is closed", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    gateway.handlers.set(orders.place, () => new Promise(() => {}));
    const client = connect(gateway);
    const { view } = await watchList(client);
    const placed = place(client, "jam");

    client.close();

    await expect(placed).rejects.toMatchObject({ code: "CLOSED" });
    await expect(place(client, "jam")).rejects.toMatchObject({ code: "CLOSED" });
    expect(articles(view.get().value)).toEqual(["tea"]);
  });
});

describe("a function of the page's own", () => {
  it("says whether a call is on its way, and why the last one failed until the next", async () => {
    const gateway = await startGateway();
    let fails = true;
    gateway.handlers.set(orders.place, () => {
      if (fails) throw new Refusal("CONFLICT", "sold out");
      return { id: "1" };
    });
    const buy = connect(gateway).mutation(orders.place);
    const states: unknown[] = [buy.state.get()];
    buy.state.subscribe(() => states.push(buy.state.get()));

    await expect(buy({ article: "jam" })).rejects.toMatchObject({ code: "CONFLICT" });
    fails = false;
    await buy({ article: "jam" });

    expect(states).toMatchObject([
      { pending: false, error: undefined },
      { pending: true, error: undefined },
      { pending: false, error: { code: "CONFLICT" } },
      { pending: true, error: undefined },
      { pending: false, error: undefined },
    ]);
  });

  it("is pending until the last of several calls has its answer", async () => {
    const gateway = await startGateway();
    const waiting: (() => void)[] = [];
    gateway.handlers.set(orders.place, () => new Promise<void>((resolve) => waiting.push(resolve)));
    const buy = connect(gateway).mutation(orders.place);
    const both = [buy({ article: "a" }), buy({ article: "b" })];
    await waitUntil(() => waiting.length === 2, "both are on their way");

    waiting[1]?.();
    await both[1];
    expect(buy.state.get().pending).toBe(true);
    waiting[0]?.();
    await both[0];

    expect(buy.state.get().pending).toBe(false);
  });
});

/** Queries of the application, live: what their errors and skipped ones do. */

import { describe, expect, it } from "vitest";
import { anOrder, LIST, orders, watchList } from "../support/orders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const BROKEN = { type: "error", id: LIST, code: "INTERNAL", message: "it broke" } as const;

describe("a query that is watched", () => {
  it("IMP-02 keeps its last value while it fails, is not asked again, and recovers by itself", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const { view } = await watchList(connect(gateway, { speed: 1_000 }));

    gateway.broadcast({ ...BROKEN, live: true });
    await waitUntil(() => view.get().error !== undefined, "it fails");
    expect(view.get()).toMatchObject({
      value: [anOrder("tea")],
      error: { code: "INTERNAL", message: "it broke" },
      loading: false,
    });
    await new Promise((resolve) => setTimeout(resolve, 10)); // ten seconds, of its clock
    gateway.answer(LIST, [anOrder("jam")]);
    await waitUntil(() => view.get().error === undefined, "it works again");

    expect(view.get().value).toEqual([anOrder("jam")]);
    expect(gateway.got("subscribe")).toHaveLength(1);
    expect(gateway.got("unsubscribe")).toEqual([]);
  });

  it("recovers with the value that it had", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const { view } = await watchList(connect(gateway));
    const { value } = view.get();

    gateway.broadcast({ ...BROKEN, live: true });
    await waitUntil(() => view.get().error !== undefined, "it fails");
    gateway.answer(LIST, [anOrder("tea")]);
    await waitUntil(() => view.get().error === undefined, "it works again");

    expect(view.get().value).toBe(value);
  });

  it("that is refused is asked again, when that may help", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const { view } = await watchList(connect(gateway, { speed: 1_000 }));

    for (const { subscriptions } of gateway.lines) subscriptions.clear();
    gateway.broadcast(BROKEN);
    await waitUntil(() => gateway.got("subscribe").length === 2, "it is asked again");

    expect(view.get().value).toEqual([anOrder("tea")]);
  });

  it("is asked once more on a new socket, though it was failing on the old one", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const { view } = await watchList(connect(gateway, { speed: 100 }));
    gateway.broadcast({ ...BROKEN, live: true });
    await waitUntil(() => view.get().error !== undefined, "it fails");

    gateway.cut();
    await waitUntil(() => view.get().error === undefined, "it works again");

    expect(gateway.got("subscribe")).toHaveLength(2);
  });
});

describe("a query that is skipped", () => {
  it("asks for nothing and waits for nothing", async () => {
    const gateway = await startGateway();
    const client = connect(gateway);
    const view = client.subscription(orders.list, "skip");
    view.subscribe(() => {});

    expect(view.get()).toEqual({ value: undefined, error: undefined, loading: false });
    expect(view.get()).toBe(client.subscription(orders.count, "skip").get());
    expect(client.connection.get().name).toBe("idle");
  });
});

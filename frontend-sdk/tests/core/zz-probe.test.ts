import { describe, expect, it } from "vitest";
import { Refusal } from "../support/gateway.js";
import { anOrder, appended, articles, COUNT, LIST, orders, watchList } from "../support/orders.js";
import { api, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

describe("probe", () => {
  it("a bigint with a layer on an open socket", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const client = connect(gateway);
    const { view } = await watchList(client);
    const r = client.mutate(orders.place, { article: 1n as never }, { optimistic: (l) => appended(l, { article: "x" }) });
    await expect(r).rejects.toBeTruthy();
    expect(articles(view.get().value)).toEqual(["tea"]);
  });
  it("a bigint before the socket is open", async () => {
    const gateway = await startGateway();
    gateway.handlers.set("chat:startRun", () => ({ id: "r" }));
    const client = connect(gateway, { speed: 10 });
    const bad = client.call(api.chat.startRun, { input: 1n as never, threadKey: "k" });
    bad.catch(() => {});
    const good = client.call(api.chat.startRun, { input: "x", threadKey: "k" });
    await expect(Promise.race([good, new Promise((_, no) => setTimeout(() => no(new Error("never")), 1500))])).resolves.toEqual({ id: "r" });
    await expect(bad).rejects.toBeTruthy();
  });
  it("auth that nobody can judge just now", async () => {
    const gateway = await startGateway();
    let user = "ann";
    gateway.judge = (token) => token ?? null;
    const client = connect(gateway, { token: () => user, speed: 10 });
    client.chat("k").state.subscribe(() => {});
    await waitUntil(() => client.connection.get().name === "open", "open");
    gateway.silent = true;
    user = "bob";
    await client.authenticate();
    await waitUntil(() => gateway.got("auth").length === 1, "asked");
    gateway.silent = false;
    gateway.broadcast({ type: "error", code: "UNAVAILABLE", message: "nobody can say" });
    await new Promise((r) => setTimeout(r, 100));
    await client.authenticate();
    await waitUntil(() => (client.connection.get() as any).identity?.userId === "bob", "bob is here");
  });
});

/** A call that no server could take fails alone, and many take their turns. */

import { describe, expect, it } from "vitest";
import type { ChatClient } from "../../src/core/index.js";
import { MAX_CALLS } from "../../src/core/protocol.gen.js";
import type { TestGateway } from "../support/gateway.js";
import { anOrder, appended, articles, LIST, orders, watchList } from "../support/orders.js";
import { api, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const MIB = 1 << 20;

function say(client: ChatClient, input: unknown): Promise<{ id: string }> {
  return client.call(api.chat.startRun, { input: input as string, threadKey: "k" });
}

async function listening(): Promise<TestGateway> {
  const gateway = await startGateway();
  gateway.handlers.set("chat:startRun", ({ input }) => ({ id: input }));
  return gateway;
}

describe("a call that cannot be sent", () => {
  it.each([
    ["no JSON", 1n, "INVALID_ARGUMENT"],
    ["larger than a frame", "x".repeat(MIB), "PAYLOAD_TOO_LARGE"],
    ["larger than a frame in bytes", "€".repeat(MIB / 3), "PAYLOAD_TOO_LARGE"],
  ])("is refused, and the next one is answered: %s", async (_, input, code) => {
    const gateway = await listening();
    const client = connect(gateway, { speed: 10 });

    const bad = expect(say(client, input)).rejects.toMatchObject({ code });
    expect(await say(client, "next")).toEqual({ id: "next" });
    await bad;

    expect(gateway.connections).toBe(1);
    expect(gateway.got("call")).toHaveLength(1);
  });

  it("leaves no layer behind", async () => {
    const gateway = await startGateway();
    gateway.answer(LIST, [anOrder("tea")]);
    const client = connect(gateway);
    const { view } = await watchList(client);

    const placed = client.mutate(
      orders.place,
      { article: 1n as never },
      { optimistic: (local) => appended(local, { article: "jam" }) },
    );
    await expect(placed).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

    expect(articles(view.get().value)).toEqual(["tea"]);
  });
});

describe("a call that is sent again", () => {
  it("says what was asked, whatever became of the arguments since", async () => {
    const gateway = await listening();
    gateway.silent = true;
    const client = connect(gateway, { speed: 10 });
    const args = { input: "first", threadKey: "k" };

    const answer = client.call(api.chat.startRun, args);
    args.input = "second";
    gateway.silent = false;

    expect(await answer).toEqual({ id: "first" });
    await waitUntil(() => gateway.got("call").length === 1, "it was sent");
  });
});

describe("more calls than a server takes at once", () => {
  it.each(["made on an open socket", "made while there is none"])(
    "are all answered: %s",
    async (when) => {
      const gateway = await startGateway();
      let open = 0;
      let most = 0;
      gateway.handlers.set("chat:startRun", async ({ input }) => {
        open += 1;
        most = Math.max(most, open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open -= 1;
        return { id: input };
      });
      const client = connect(gateway, { speed: 10 });
      if (when === "made on an open socket") await say(client, "first");
      const inputs = Array.from({ length: 200 }, (_, index) => `${index}`);

      const answers = await Promise.all(inputs.map((input) => say(client, input)));

      expect(answers.map(({ id }) => id)).toEqual(inputs);
      expect(most).toBe(MAX_CALLS);
    },
  );

  it("take their turns on the next socket, in the order in which they were asked", async () => {
    const gateway = await listening();
    const client = connect(gateway, { speed: 10 });
    await say(client, "first");
    gateway.silent = true;
    const answers = Array.from({ length: 100 }, (_, index) => say(client, `${index}`));
    await waitUntil(() => gateway.got("call").length === 1 + MAX_CALLS, "the first have left");

    gateway.silent = false;
    gateway.cut();
    await Promise.all(answers);

    const again = gateway.got("call").slice(1 + MAX_CALLS);
    expect(again.map(({ args }) => args?.["input"])).toEqual(answers.map((_, n) => `${n}`));
  });
});

/**
 * What a page does with its server functions, told by the SDK itself.
 * Arguments: the SDK's entry, the gateway, Ann's token, Ben's token. Prints what was seen, as JSON.
 */

import { pathToFileURL } from "node:url";
import { socketConstructor, watching } from "./stage.mjs";

const [entry, url, annsToken, bensToken] = process.argv.slice(2);
const { createClient, mutation, query, ref } = await import(pathToFileURL(entry).href);
const WebSocket = socketConstructor(entry);

const listOrders = query("orders:listOrders");
const placeOrder = mutation("orders:placeOrder");
const cancelOrder = mutation("orders:cancelOrder");

function person(token) {
  return createClient({ url, WebSocket, ...(token && { token }) });
}

async function refusal(promise) {
  try {
    return { answered: await promise };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

const ann = person(annsToken);
const ben = person(bensToken);
const nobody = person();

const hers = watching(ann.subscription(listOrders, {}));
const his = watching(ben.subscription(listOrders, {}));
const nobodys = watching(nobody.subscription(listOrders, {}));
await hers.until(({ value }) => value !== undefined);
await his.until(({ value }) => value !== undefined);
const anonymous = await nobodys.until(({ error }) => error !== undefined);

const key = "the-first-order";
const placed = await ann.mutate(
  placeOrder,
  { key, item: "Hemp rope, 20 m" },
  {
    optimistic: (local) => {
      const before = local.get(listOrders, {}) ?? [];
      if (before.some((order) => order.key === key)) return;
      local.set(listOrders, {}, [{ key, status: "expected" }, ...before]);
    },
  },
);
const after = ann.subscription(listOrders, {}).get().value;

const told = {
  placed: placed.status,
  orderId: placed.id,
  atTheAnswer: after.map((order) => [order.key, order.status]),
  mostAtOnce: Math.max(
    ...hers.seen.map(({ value }) => (value ?? []).filter((order) => order.key === key).length),
  ),
  wasExpected: hers.seen.some(({ value }) => (value ?? []).some((o) => o.status === "expected")),
  bens: his.seen.flatMap(({ value }) => value ?? []),
  anonymous: anonymous.error.code,
  foreign: await refusal(ben.mutate(cancelOrder, { orderId: placed.id })),
  missing: await refusal(ben.mutate(cancelOrder, { orderId: 99_999 })),
  internal: await refusal(ann.call(ref("orders:changeOrder"), { orderId: placed.id })),
  absent: await refusal(ann.call(ref("orders:noSuchThing"), { orderId: placed.id })),
};

await ann.mutate(cancelOrder, { orderId: placed.id });
told.cancelled = ann.subscription(listOrders, {}).get().value.map((order) => order.status);

for (const client of [ann, ben, nobody]) client.close();
console.log(JSON.stringify(told));

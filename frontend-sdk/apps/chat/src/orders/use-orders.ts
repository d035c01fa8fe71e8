/**
 * The orders of the person at this page: live, with what he has just done laid over them.
 *
 * The page chooses an order's key, so a row that is shown before it is stored is the same row after.
 */

import { useState } from "react";
import type { LocalStore } from "ropewalk";
import { useMutation, useQuery } from "ropewalk/react";
import type { OrderView, Ware } from "../api.gen.js";
import { api } from "../api.js";

/** The number of an order that the server has not answered for yet. */
const NO_NUMBER = 0;

export interface Orders {
  readonly orders: readonly OrderView[] | undefined;
  readonly wares: readonly Ware[];
  /** Why there is nothing to show, or why the last thing could not be done. */
  readonly trouble: string | undefined;
  readonly place: (item: string) => void;
  readonly pay: (order: OrderView) => void;
  readonly cancel: (order: OrderView) => void;
  /** Resolves to the conversation in which the answer will be; undefined if it was refused. */
  readonly ask: (order: OrderView, question: string) => Promise<string | undefined>;
}

export function useOrders(): Orders {
  const { value: orders, error } = useQuery(api.orders.listOrders);
  const { value: wares } = useQuery(api.orders.listWares);
  const [refused, setRefused] = useState<string>();
  const place = useMutation(api.orders.placeOrder, {
    optimistic(local, { key, item }) {
      const list = local.get(api.orders.listOrders, {});
      const ware = local.get(api.orders.listWares, {})?.find((one) => one.item === item);
      if (!list || !ware || list.some((one) => one.key === key)) return;
      local.set(api.orders.listOrders, {}, [placed(key, ware), ...list]);
    },
  });
  const pay = useMutation(api.orders.payOrder, {
    optimistic: (local, { orderId }) => mark(local, orderId, "paid"),
  });
  const cancel = useMutation(api.orders.cancelOrder, {
    optimistic: (local, { orderId }) => mark(local, orderId, "cancelled"),
  });
  const ask = useMutation(api.orders.askAboutOrder);

  const attempt = async <T>(call: Promise<T>): Promise<T | undefined> => {
    setRefused(undefined);
    try {
      return await call;
    } catch (thrown) {
      setRefused(thrown instanceof Error ? thrown.message : String(thrown));
      return undefined;
    }
  };
  return {
    orders,
    wares: wares ?? [],
    trouble: refused ?? error?.message,
    place: (item) => void attempt(place({ key: crypto.randomUUID(), item })),
    pay: ({ id }) => void attempt(pay({ orderId: id })),
    cancel: ({ id }) => void attempt(cancel({ orderId: id })),
    ask: async ({ id }, question) => (await attempt(ask({ orderId: id, question })))?.threadKey,
  };
}

/** Whether this server has orders at all; a team may have removed the example. */
export function useHasOrders(): boolean {
  return useQuery(api.orders.listOrders).error?.code !== "NOT_FOUND";
}

export function isStored(order: OrderView): boolean {
  return order.id !== NO_NUMBER;
}

function placed(key: string, { item, priceCents }: Ware): OrderView {
  return {
    id: NO_NUMBER,
    key,
    item,
    quantity: 1,
    priceCents,
    status: "placed",
    shipTo: null,
    threadKey: null,
  };
}

function mark(local: LocalStore, id: number, status: OrderView["status"]): void {
  const list = local.get(api.orders.listOrders, {});
  if (!list) return;
  const marked = list.map((one) => (one.id === id ? { ...one, status } : one));
  local.set(api.orders.listOrders, {}, marked);
}

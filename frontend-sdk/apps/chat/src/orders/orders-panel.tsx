/**
 * What can be ordered and what was: beside the chat, or over it where there is no room.
 *
 * Nothing here is told of what the agent does; the list is a query, and a query is live.
 */

import { type ReactNode, useEffect, useRef } from "react";
import type { OrderView } from "../api.gen.js";
import { Icon } from "../icons.js";
import { dollars } from "./dollars.js";
import { OrderRow } from "./order-row.js";
import { useOrders } from "./use-orders.js";

interface OrdersPanelProps {
  /** It lies over the chat, so it takes the focus. */
  readonly over: boolean;
  readonly close: () => void;
  /** Show a conversation. */
  readonly show: (threadKey: string) => void;
}

export function OrdersPanel({ over, close, show }: OrdersPanelProps): ReactNode {
  const { orders, wares, trouble, place, pay, cancel, ask } = useOrders();
  const closer = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (over) closer.current?.focus();
  }, [over]);
  const askAndShow = async (order: OrderView, question: string) => {
    const threadKey = await ask(order, question);
    if (threadKey !== undefined) show(threadKey);
  };
  return (
    <>
      {over && (
        <button type="button" className="veil" aria-label="Close the orders" onClick={close} />
      )}
      <aside className="orders" id="orders" data-testid="orders" aria-label="Orders">
        <header className="bar">
          <h2>Orders</h2>
          <button
            ref={closer}
            type="button"
            className="quiet square"
            aria-label="Hide the orders"
            title="Hide the orders"
            onClick={close}
          >
            <Icon name="close" />
          </button>
        </header>
        <div className="shelves">
          <ul className="wares" aria-label="What can be ordered">
            {wares.map(({ item, priceCents }) => (
              <li key={item}>
                <button
                  type="button"
                  data-testid="place-order"
                  data-item={item}
                  aria-label={`Order: ${item}, ${dollars(priceCents)}`}
                  onClick={() => place(item)}
                >
                  <Icon name="plus" />
                  <span>{item}</span>
                  <small>{dollars(priceCents)}</small>
                </button>
              </li>
            ))}
          </ul>
          {trouble !== undefined && (
            <div className="banner" role="alert" data-testid="orders-error">
              <Icon name="alert" />
              <p>{trouble}</p>
            </div>
          )}
          <ul className="list" data-testid="order-list" aria-label="Your orders">
            {orders?.map((order) => (
              <OrderRow key={order.key} {...{ order, pay, cancel, show }} ask={askAndShow} />
            ))}
          </ul>
          {orders?.length === 0 && (
            <p className="none">
              No orders yet. Order something, and every open tab shows it; then ask the desk about
              it.
            </p>
          )}
        </div>
      </aside>
    </>
  );
}

/** One order: what it is, where it stands, and what can still be done with it. */

import { type ReactNode, useState } from "react";
import type { OrderView } from "../api.gen.js";
import { AskForm } from "./ask-form.js";
import { dollars } from "./dollars.js";
import { isStored } from "./use-orders.js";

interface OrderRowProps {
  readonly order: OrderView;
  readonly pay: (order: OrderView) => void;
  readonly cancel: (order: OrderView) => void;
  readonly ask: (order: OrderView, question: string) => Promise<void>;
  readonly show: (threadKey: string) => void;
}

const WORDS: Record<OrderView["status"], string> = {
  placed: "Placed",
  paid: "Paid",
  shipped: "Shipped",
  cancelled: "Cancelled",
  refunded: "Refunded",
};

export function OrderRow(props: OrderRowProps): ReactNode {
  const { order, pay, cancel, ask, show } = props;
  const { item, quantity, priceCents, status, shipTo, threadKey } = order;
  const [asking, setAsking] = useState(false);
  const stored = isStored(order);
  const name = stored ? `order ${order.id}` : "the new order";
  return (
    <li
      className={`order ${status}${stored ? "" : " optimistic"}`}
      data-testid="order"
      data-order-id={order.id}
      data-order-key={order.key}
      data-status={status}
    >
      <div className="what">
        <span className="number">{stored ? `#${order.id}` : "…"}</span>
        <strong>
          {quantity > 1 && `${quantity} × `}
          {item}
        </strong>
        <span className={`status ${status}`}>{WORDS[status]}</span>
      </div>
      <div className="meta">
        <p>
          {dollars(quantity * priceCents)}
          {shipTo && ` · to ${shipTo}`}
        </p>
        {threadKey !== null && (
          <button
            type="button"
            className="quiet"
            data-testid="order-conversation"
            aria-label={`Show the conversation about ${name}`}
            onClick={() => show(threadKey)}
          >
            Conversation
          </button>
        )}
      </div>
      <div className="deeds">
        {status === "placed" && (
          <>
            <button
              type="button"
              data-testid="pay-order"
              aria-label={`Pay ${name}`}
              disabled={!stored}
              onClick={() => pay(order)}
            >
              Pay
            </button>
            <button
              type="button"
              data-testid="cancel-order"
              aria-label={`Cancel ${name}`}
              disabled={!stored}
              onClick={() => cancel(order)}
            >
              Cancel
            </button>
          </>
        )}
        <button
          type="button"
          data-testid="ask-order"
          aria-label={`Ask the desk about ${name}`}
          aria-expanded={asking}
          disabled={!stored}
          onClick={() => setAsking(!asking)}
        >
          Ask the desk
        </button>
      </div>
      {asking && (
        <AskForm
          number={order.id}
          ask={async (question) => {
            await ask(order, question);
            setAsking(false);
          }}
          close={() => setAsking(false)}
        />
      )}
    </li>
  );
}

import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { useMyApprovals, useNotices } from "./approvals/use-notices.js";
import { Conversation } from "./conversation.js";
import { Icon } from "./icons.js";
import { OrdersPanel } from "./orders/orders-panel.js";
import { useHasOrders } from "./orders/use-orders.js";
import { useOrdersOpen } from "./orders/use-orders-open.js";
import { Sidebar } from "./sidebar.js";
import { useThreads } from "./threads.js";
import { useThreadKey } from "./use-thread-key.js";

export function App(): ReactNode {
  const { threadKey, show, startNew } = useThreadKey();
  const { threads, note } = useThreads();
  const waiting = useMyApprovals();
  useNotices(waiting);
  const [listOpen, setListOpen] = useState(false);
  const close = useCallback(() => setListOpen(false), []);
  const openList = useCallback(() => setListOpen(true), []);
  const orders = useOrdersOpen();
  const hasOrders = useHasOrders();
  const showsOrders = orders.open && hasOrders;
  const coveredByOrders = orders.over && showsOrders;
  const opener = useRef<HTMLButtonElement>(null);
  const wasOver = useRef(false);

  useEffect(() => {
    // Who closes what lay over the page is back where he came from.
    if (wasOver.current && !orders.open) opener.current?.focus();
    wasOver.current = orders.over;
  }, [orders.over, orders.open]);

  const leave = useCallback(() => {
    close();
    if (orders.over) orders.set(false);
  }, [close, orders.over, orders.set]);
  const showThread = useCallback(
    (key: string) => {
      show(key);
      leave();
      // The focus is the conversation's.
      wasOver.current = false;
    },
    [show, leave],
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what lies over the page from wherever the focus is.
    <div
      className={`app${showsOrders ? " with-orders" : ""}`}
      onKeyDown={(event) => event.key === "Escape" && leave()}
    >
      <Sidebar
        threads={threads}
        waiting={waiting}
        current={threadKey}
        open={listOpen}
        covered={coveredByOrders}
        close={close}
        show={showThread}
        startNew={() => {
          startNew();
          close();
        }}
      />
      <Conversation
        key={threadKey}
        threadKey={threadKey}
        waiting={waiting.length}
        covered={listOpen || coveredByOrders}
        openList={openList}
        note={note}
      >
        {hasOrders && (
          <button
            ref={opener}
            type="button"
            className="quiet toggle"
            data-testid="orders-toggle"
            aria-label="Orders"
            aria-expanded={showsOrders}
            aria-controls="orders"
            onClick={() => orders.set(!orders.open)}
          >
            <Icon name="box" />
            <span>Orders</span>
          </button>
        )}
      </Conversation>
      {showsOrders && (
        <OrdersPanel over={orders.over} close={() => orders.set(false)} show={showThread} />
      )}
    </div>
  );
}

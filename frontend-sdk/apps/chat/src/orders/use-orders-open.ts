/** Whether the orders are on show: beside the chat as it was last, over it only when asked for. */

import { useCallback, useState, useSyncExternalStore } from "react";

const STORED = "ropewalk.orders";
/** As in `styles/orders.css`: below this there is no room for a third column. */
const NARROW = matchMedia("(width < 1200px)");

export interface OrdersOpen {
  readonly open: boolean;
  /** They lie over the chat. */
  readonly over: boolean;
  readonly set: (open: boolean) => void;
}

export function useOrdersOpen(): OrdersOpen {
  const narrow = useSyncExternalStore(follow, () => NARROW.matches);
  const [beside, setBeside] = useState(stored);
  const [over, setOver] = useState(false);
  const set = useCallback(
    (open: boolean) => {
      setOver(open);
      if (!narrow) {
        setBeside(open);
        store(open);
      }
    },
    [narrow],
  );
  return { open: narrow ? over : beside, over: narrow && over, set };
}

function follow(listener: () => void): () => void {
  NARROW.addEventListener("change", listener);
  return () => NARROW.removeEventListener("change", listener);
}

function stored(): boolean {
  try {
    return localStorage.getItem(STORED) !== "hidden";
  } catch {
    return true;
  }
}

function store(open: boolean): void {
  try {
    localStorage.setItem(STORED, open ? "shown" : "hidden");
  } catch {
    // Then it lasts as long as the page.
  }
}

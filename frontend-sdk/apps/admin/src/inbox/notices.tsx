/** Who looks elsewhere is told by the browser that something waits for him: where he asked for it. */

import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useQuery } from "ropewalk/react";
import { api, INBOX_LIMIT } from "../api.js";
import { navigate, to } from "../router.js";

const PENDING = { status: "pending", limit: INBOX_LIMIT } as const;
const STORED = "ropewalk.admin.notices";
const ON = "on";
/** Above it one notice says how many there are. */
const MOST = 3;

const listeners = new Set<() => void>();

function follow(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Whether this person asked for notices here, and the browser lets them through. */
function isOn(): boolean {
  try {
    return permission() === "granted" && localStorage.getItem(STORED) === ON;
  } catch {
    return false;
  }
}

function keep(on: boolean): void {
  try {
    if (on) localStorage.setItem(STORED, ON);
    else localStorage.removeItem(STORED);
  } catch {
    // Then nobody is told.
  }
  for (const listener of [...listeners]) listener();
}

function permission(): NotificationPermission | "unsupported" {
  return "Notification" in globalThis ? Notification.permission : "unsupported";
}

/** Ask for notices, which browsers allow on a click only, or want no more of them. */
export function NoticesButton(): ReactNode {
  const on = useSyncExternalStore(follow, isOn);
  const [allowed, setAllowed] = useState(permission);
  if (allowed === "unsupported") return null;
  const ask = async () => {
    const now = await Notification.requestPermission();
    setAllowed(now);
    keep(now === "granted");
  };
  return (
    <button
      type="button"
      className="small"
      aria-pressed={on}
      data-testid="notices"
      disabled={allowed === "denied"}
      title={
        allowed === "denied"
          ? "This browser was told not to show notices of this site"
          : "While you look at another tab or window"
      }
      onClick={() => (on ? keep(false) : void ask())}
    >
      {on ? "You are notified" : "Notify me"}
    </button>
  );
}

/** Shows notices of what begins to wait for this person while the page is hidden. */
export function Notices(): ReactNode {
  const on = useSyncExternalStore(follow, isOn);
  return on ? <Telling /> : null;
}

function Telling(): ReactNode {
  const { value } = useQuery(api.approvals, PENDING);
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (value === undefined) return;
    const mine = value.filter(({ mayDecide }) => mayDecide);
    // What waited when the page was opened is nothing new.
    const fresh = known.current && mine.filter(({ id }) => !known.current?.has(id));
    known.current = new Set(mine.map(({ id }) => id));
    if (fresh !== undefined && document.hidden) tell(fresh);
  }, [value]);
  return null;
}

function tell(fresh: readonly ApprovalRecord[]): void {
  if (fresh.length > MOST) {
    show(`${fresh.length} calls wait for you`, "They are in the inbox.", "ropewalk-many");
    return;
  }
  for (const { id, name, agent, owner } of fresh) {
    const whom = owner === null ? "" : ` for ${owner}`;
    // One of the same call replaces the one before, from whichever tab it comes.
    show(`${name} waits for you`, `${agent} asks${whom}.`, id);
  }
}

function show(title: string, body: string, tag: string): void {
  const notice = new Notification(title, { body, tag });
  notice.onclick = () => {
    window.focus();
    navigate(to());
    notice.close();
  };
}

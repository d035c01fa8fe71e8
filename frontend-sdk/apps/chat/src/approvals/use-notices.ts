/** Who does not look at the page is told that something waits: in its title, and by the browser. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { ApprovalRecord } from "ropewalk";
import { useApprovals } from "ropewalk/react";
import { api } from "../api.js";
import { useMe } from "./deciding.js";

/** What waits for whoever looks at the page, in any conversation of his own. */
export function useMyApprovals(): readonly ApprovalRecord[] {
  const { pending } = useApprovals({ api });
  const me = useMe();
  return pending.filter(({ mayDecide, owner }) => mayDecide && owner === (me ?? null));
}

/** Show notices of what begins to wait while the page is hidden, where the person has allowed it. */
export function useNotices(waiting: readonly ApprovalRecord[]): void {
  const told = useRef<ReadonlySet<string>>(new Set());
  const ids = waiting.map(({ id }) => id).join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids stand for what waits.
  useEffect(() => {
    const fresh = waiting.filter(({ id }) => !told.current.has(id));
    told.current = new Set(waiting.map(({ id }) => id));
    if (!document.hidden || permission() !== "granted") return;
    for (const { id, name, agent } of fresh) {
      const notice = new Notification(`${name} needs your approval`, {
        body: `${agent} waits for your answer.`,
        // A notice of the same call replaces the one before, from whichever tab it comes.
        tag: id,
      });
      notice.onclick = () => {
        window.focus();
        notice.close();
      };
    }
  }, [ids]);
}

/** Whether notices can be asked for, and the asking, which browsers allow on a click only. */
export function useAskForNotices(): (() => void) | undefined {
  const [asked, setAsked] = useState(permission);
  const ask = useCallback(() => {
    void Notification.requestPermission().then(setAsked);
  }, []);
  return asked === "default" ? ask : undefined;
}

function permission(): NotificationPermission | "unsupported" {
  return "Notification" in globalThis ? Notification.permission : "unsupported";
}

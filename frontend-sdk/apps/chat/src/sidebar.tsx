/** The threads, the newest first. On a phone it slides over the chat. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";
import { Icon, Logo } from "./icons.js";
import { ThemeButton } from "./theme.js";
import type { ThreadEntry } from "./threads.js";

interface SidebarProps {
  readonly threads: readonly ThreadEntry[];
  /** What waits for whoever looks, in any of them. */
  readonly waiting: readonly ApprovalRecord[];
  readonly current: string;
  readonly open: boolean;
  /** The orders lie over it. */
  readonly covered: boolean;
  readonly close: () => void;
  readonly show: (key: string) => void;
  readonly startNew: () => void;
}

export function Sidebar({
  threads,
  waiting,
  current,
  open,
  covered,
  close,
  show,
  startNew,
}: SidebarProps): ReactNode {
  return (
    <>
      {open && (
        <button type="button" className="veil" aria-label="Close the list" onClick={close} />
      )}
      <nav className={`sidebar${open ? " open" : ""}`} aria-label="Conversations" inert={covered}>
        <div className="brand">
          <Logo />
          <span>Ropewalk</span>
          <ThemeButton />
        </div>
        <button type="button" className="new" data-testid="new-chat" onClick={startNew}>
          <Icon name="plus" />
          New chat
        </button>
        <ul className="threads" data-testid="threads">
          {threads.map(({ key, title }) => (
            <li key={key}>
              <button
                type="button"
                data-testid="thread"
                data-thread-key={key}
                aria-current={key === current ? "page" : undefined}
                onClick={() => show(key)}
                title={title}
              >
                {waiting.some((one) => (one.conversation ?? one.key) === key) && (
                  <span className="waits" data-testid="thread-waits">
                    <span className="hidden">Needs your approval: </span>
                  </span>
                )}
                {title}
              </button>
            </li>
          ))}
        </ul>
      </nav>
    </>
  );
}

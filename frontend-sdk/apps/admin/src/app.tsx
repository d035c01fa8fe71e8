/** The frame: where one can go, who is signed in, and the page. */

import { type ReactNode, useEffect, useRef } from "react";
import type { SubscriptionView } from "ropewalk";
import { ConnectionMark } from "../../chat/src/connection-mark.js";
import { Logo } from "../../chat/src/icons.js";
import { ThemeButton } from "../../chat/src/theme.js";
import type { SystemView } from "./admin.gen.js";
import { Agents } from "./agents/agents.js";
import { Configuration } from "./config/configuration.js";
import { Governance } from "./governance/governance.js";
import { Inbox } from "./inbox/inbox.js";
import { Notices } from "./inbox/notices.js";
import { Link, type Place, placeOf, to, usePath } from "./router.js";
import { Run } from "./runs/run.js";
import { Runs } from "./runs/runs.js";
import { System } from "./system/system.js";
import { Thread } from "./threads/thread.js";
import { Threads } from "./threads/threads.js";
import { Glyph, type GlyphName } from "./ui/glyphs.js";
import { Empty, Offline } from "./ui/states.js";

interface AppProps {
  readonly user: string;
  readonly system: SubscriptionView<SystemView>;
  readonly signOut: () => void;
  /** Roles other than admin may be given governance and overrides, and nothing else. */
  readonly isAdmin: boolean;
}

interface Entry {
  readonly page: Place["page"];
  readonly href: string;
  readonly name: string;
  readonly glyph: GlyphName;
}

const PAGES: readonly Entry[] = [
  { page: "inbox", href: to(), name: "Inbox", glyph: "inbox" },
  { page: "runs", href: to("runs"), name: "Runs", glyph: "runs" },
  { page: "threads", href: to("threads"), name: "Threads", glyph: "threads" },
  { page: "agents", href: to("agents"), name: "Agents", glyph: "agents" },
  { page: "governance", href: to("governance"), name: "Governance", glyph: "governance" },
  { page: "system", href: to("system"), name: "System", glyph: "system" },
];

export function App({ user, system, signOut, isAdmin }: AppProps): ReactNode {
  const path = usePath();
  const place = placeOf(path);
  const waiting = system.value?.pendingApprovals ?? 0;
  const main = useRef<HTMLElement>(null);
  const name = PAGES.find((one) => one.page === place.page)?.name ?? "Not found";

  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} · Ropewalk admin`;
  }, [name, waiting]);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    // A new page is read from its beginning, by eyes and by screen readers.
    main.current?.focus({ preventScroll: true });
    main.current?.scrollTo(0, 0);
  }, [path]);

  return (
    <div className="frame">
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="top">
        <Link href={to()} className="brand" aria-label="Ropewalk admin">
          <Logo />
          <span>Ropewalk</span>
        </Link>
        <nav aria-label="Pages">
          {PAGES.filter(({ page }) => isAdmin || page === "governance").map((entry) => (
            <Link
              key={entry.page}
              href={entry.href}
              aria-current={entry.page === place.page ? "page" : undefined}
              data-testid={`nav-${entry.page}`}
            >
              <Glyph name={entry.glyph} />
              <span>{entry.name}</span>
              {entry.page === "inbox" && waiting > 0 && (
                <b className="badge" data-testid="waiting-count">
                  {waiting}
                  <span className="hidden"> waiting</span>
                </b>
              )}
            </Link>
          ))}
        </nav>
        <div className="who">
          <ConnectionMark />
          <ThemeButton />
          <span className="user" data-testid="user" title={`Signed in as ${user}`}>
            {user}
          </span>
          <button type="button" className="quiet" data-testid="sign-out" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <Offline />
        {isAdmin && <Notices />}
        <Page place={place} system={system} isAdmin={isAdmin} />
      </main>
    </div>
  );
}

interface PageProps extends Pick<AppProps, "system" | "isAdmin"> {
  readonly place: Place;
}

function Page({ place, system, isAdmin }: PageProps): ReactNode {
  const isOpen =
    isAdmin ||
    place.page === "governance" ||
    (place.page === "agents" && place.tab === "configuration");
  if (!isOpen) {
    return (
      <Empty title="This page is for admins">
        <Link href={to("governance")}>To governance</Link>
      </Empty>
    );
  }
  switch (place.page) {
    case "inbox":
      return <Inbox tab={place.tab} />;
    case "runs":
      return place.id === undefined ? <Runs /> : <Run key={place.id} id={place.id} />;
    case "threads":
      return place.key === undefined ? (
        <Threads />
      ) : (
        <Thread key={place.key} threadKey={place.key} />
      );
    case "agents":
      return place.slug !== undefined && place.tab === "configuration" ? (
        <Configuration key={place.slug} slug={place.slug} isAdmin={isAdmin} />
      ) : (
        <Agents slug={place.slug} />
      );
    case "governance":
      return <Governance tab={place.tab} />;
    case "system":
      return <System system={system} />;
    case "nowhere":
      return (
        <Empty title="There is no such page">
          <Link href={to()}>To the inbox</Link>
        </Empty>
      );
  }
}

/** The two pages of an agent. */

import type { ReactNode } from "react";
import { Link, to } from "../router.js";

interface TabsProps {
  readonly slug: string;
  readonly here: "declared" | "configuration";
}

export function AgentTabs({ slug, here }: TabsProps): ReactNode {
  return (
    <nav className="tabs" aria-label="Of this agent">
      <Link href={to("agents", slug)} aria-current={here === "declared" ? "page" : undefined}>
        As coded
      </Link>
      <Link
        href={to("agents", slug, "configuration")}
        aria-current={here === "configuration" ? "page" : undefined}
        data-testid="tab-configuration"
      >
        Configuration
      </Link>
    </nav>
  );
}

/** What other agents ask that were given work here: their calls are in conversations of their own. */

import { type ReactNode, useRef } from "react";
import type { ApprovalRecord } from "ropewalk";
import { Fields } from "../fields.js";
import { Icon } from "../icons.js";
import { Approval } from "./approval.js";

/**
 * Return for each entry the calls of others that were asked for after it and before the next
 * one that has a time.
 */
export function childrenAfter(
  times: readonly (string | undefined)[],
  children: readonly ApprovalRecord[],
): readonly (readonly ApprovalRecord[])[] {
  const after: ApprovalRecord[][] = times.map(() => []);
  for (const child of children) {
    const asked = Date.parse(child.requestedAt);
    const at = times.findLastIndex((time) => time !== undefined && Date.parse(time) <= asked);
    after[Math.max(at, 0)]?.push(child);
  }
  return after;
}

export function Child({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { agent, name, input, status } = approval;
  const card = useRef<HTMLElement>(null);
  return (
    // biome-ignore lint/a11y/useSemanticElements: several calls of one name are no landmarks.
    <section
      ref={card}
      role="group"
      tabIndex={-1}
      className={`card ${status === "pending" ? "waiting" : "past"}`}
      data-testid="child-approval"
      data-agent={agent}
      aria-label={`${agent} asks for ${name}`}
    >
      <header>
        <Icon name="hand" />
        <code className="name">{name}</code>
        <span className="progress">
          <strong>{agent}</strong> {status === "pending" ? "asks" : "asked"}
        </span>
      </header>
      <Fields value={input} />
      <Approval approval={approval} card={card} />
    </section>
  );
}

/** What happens on approve, in a sentence or two, from what the tool says of itself. */

import type { ApprovalRecord } from "ropewalk";
import type { AgentDetail, ToolView } from "../admin.gen.js";

/** What cards need of an agent: it stays as it is while its runs come and go. */
export type Tools = Pick<AgentDetail, "slug" | "tools">;

export function toolOf(
  agents: readonly Tools[],
  { agent, name }: Pick<ApprovalRecord, "agent" | "name">,
): ToolView | undefined {
  return agents.find(({ slug }) => slug === agent)?.tools.find((tool) => tool.name === name);
}

/** Return what the tool does, as its author told the model: the first paragraph. */
export function promiseOf(tool: ToolView | undefined): string | undefined {
  const text = tool?.description
    ?.trim()
    .split(/\n\s*\n/)[0]
    ?.replace(/\s+/g, " ");
  return text === "" ? undefined : text;
}

/** Return when the run goes on. `others` wait with this call. */
export function onwards(others: number): string {
  if (others === 0) return "The run then goes on.";
  return `The run goes on when the ${others === 1 ? "other call" : `${others} other calls`} of it ${
    others === 1 ? "is" : "are"
  } decided, too.`;
}

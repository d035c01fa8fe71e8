/**
 * From what a chat shows to what stands in the log, in order, each under a key of its own.
 *
 * Pure.  A tool's result belongs to its call's card; what waits for a person and has no card here
 * (a child agent asks, or the call is on an earlier page) stands at the end.
 */

import {
  type ChatMessage,
  type ChatState,
  type LiveTurn,
  liveKey,
  messageKey,
  type PendingApproval,
} from "../core/index.js";
import type { Around } from "./parts.js";

export interface Entry extends Around {
  readonly key: string;
  readonly of: ChatMessage | LiveTurn | PendingApproval;
}

export function entriesOf({ messages, live, pendingApprovals }: ChatState): readonly Entry[] {
  const calls = new Set<string>();
  const results = new Map<string, ChatMessage>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (!("toolCallId" in part)) continue;
      const call = id(message.runId, part.toolCallId);
      if (part.type === "tool_call") calls.add(call);
      else results.set(call, message);
    }
  }
  const asked = new Map(pendingApprovals.map((one) => [id(one.runId, one.toolCallId), one]));
  const hasCard = (runId: string, part: object) =>
    "toolCallId" in part && calls.has(id(runId, part.toolCallId as string));
  const entry = (key: string, runId: string, of: Entry["of"]): Entry => ({
    key,
    of,
    resultOf: (call) => results.get(id(runId, call)),
    approvalOf: (call) => asked.get(id(runId, call)),
  });
  const stored = messages
    .filter(
      ({ role, runId, parts }) => role !== "tool" || !parts.every((part) => hasCard(runId, part)),
    )
    .map((one) => entry(messageKey(one), one.runId, one));
  const spoken = live.map((one) => entry(liveKey(one.run, one.turn), one.run, one));
  const elsewhere = pendingApprovals
    .filter((one) => !hasCard(one.runId, one))
    .map((one) => entry(one.id, one.runId, one));
  // What is being said answers what is stored; what is on its way comes after it.
  const first = stored.findIndex(({ of }) => "optimistic" in of);
  stored.splice(first < 0 ? stored.length : first, 0, ...spoken, ...elsewhere);
  return stored;
}

function id(runId: string, toolCallId: string): string {
  return `${runId}:${toolCallId}`;
}

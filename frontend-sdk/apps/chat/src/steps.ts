/**
 * From stored messages to what stands in the chat: a tool's result belongs to its call.
 *
 * A step keeps its identity while nothing in it changed, so that only what is new is
 * drawn again.
 */

import type { ChatMessage } from "ropewalk";
import { messageKey } from "ropewalk";

export interface Step {
  readonly key: string;
  readonly message: ChatMessage;
  /** Of an assistant's message: the results of its calls, by call id. */
  readonly results: ReadonlyMap<string, ChatMessage>;
}

const NONE: ReadonlyMap<string, ChatMessage> = new Map();

export function stepsOf(messages: readonly ChatMessage[], before: readonly Step[]): Step[] {
  const results = new Map<string, ChatMessage>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === "tool_result")
        results.set(resultKey(message.runId, part.toolCallId), message);
    }
  }
  const known = new Map(before.map((step) => [step.message.id, step]));
  return messages.flatMap((message) => {
    const calls = message.parts.flatMap((part) =>
      part.type === "tool_call" ? [part.toolCallId] : [],
    );
    const own = new Map<string, ChatMessage>();
    for (const call of calls) {
      const result = results.get(resultKey(message.runId, call));
      if (result !== undefined) {
        own.set(call, result);
        results.delete(resultKey(message.runId, call));
      }
    }
    // A result stands in its call's card; one whose call is on an older page stands alone.
    const isShown = message.role === "tool" && !alone(message, results);
    if (isShown) return [];
    const step = { key: messageKey(message), message, results: own.size > 0 ? own : NONE };
    const old = known.get(message.id);
    return [old !== undefined && sameStep(old, step) ? old : step];
  });
}

function alone(message: ChatMessage, unclaimed: ReadonlyMap<string, ChatMessage>): boolean {
  return message.parts.some(
    (part) =>
      part.type === "tool_result" && unclaimed.has(resultKey(message.runId, part.toolCallId)),
  );
}

function resultKey(runId: string, toolCallId: string): string {
  return `${runId}:${toolCallId}`;
}

function sameStep(a: Step, b: Step): boolean {
  return (
    a.message === b.message &&
    a.results.size === b.results.size &&
    [...a.results].every(([call, result]) => b.results.get(call) === result)
  );
}

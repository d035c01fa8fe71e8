/**
 * What a step was about: the journal keeps what it returned, the messages have the words.
 *
 * A model call names its message; the result of a tool is found by the call.
 */

import type { Message } from "ropewalk";
import type { RunDetail, StepRow } from "../admin.gen.js";

export interface Content {
  /** The arguments of a tool. */
  readonly asked: unknown;
  readonly answered: unknown;
  /** What the model said and thought. */
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly model: string | undefined;
  readonly tokens: { readonly input: number; readonly output: number } | undefined;
  /** Dollars, where a public price is known. */
  readonly cost: number | undefined;
}

/** Return what is known of a step besides its value; undefined where it wrote no message. */
export function contentOf(
  step: StepRow,
  detail: Pick<RunDetail, "messages" | "costs">,
): Content | undefined {
  const messages = detail.messages as readonly Message[];
  const id = messageId(step.value);
  const message = messages.find((one) => one.id === id) ?? resultOf(messages, step.name);
  if (message === undefined) return undefined;
  const result = message.parts.find((part) => part.type === "tool_result");
  const thoughts = message.parts.flatMap((part) => (part.type === "thinking" ? [part.text] : []));
  return {
    asked: result && inputOf(messages, result.toolCallId),
    answered: result?.output,
    text: message.role === "assistant" ? message.text : "",
    thinking: thoughts.join("\n\n"),
    calls: message.parts.flatMap((part) =>
      part.type === "tool_call" ? [{ name: part.name, input: part.input }] : [],
    ),
    model: message.model,
    tokens: message.usage && {
      input: message.usage.inputTokens,
      output: message.usage.outputTokens,
    },
    cost: detail.costs[message.id],
  };
}

/**
 * Return the message with which a step's turn began: before it, the conversation can be taken on
 * another way. Undefined for what is no step of a turn.
 */
export function turnOf(
  { turn, value }: Pick<StepRow, "turn" | "value">,
  detail: Pick<RunDetail, "messages">,
): string | undefined {
  const messages = detail.messages as readonly Message[];
  const named = messageId(value);
  const answers = messages.filter(({ role }) => role === "assistant");
  const found =
    answers.find(({ id }) => id === named) ??
    (turn === null ? undefined : answers.find((one) => one.turn === turn));
  return found?.id;
}

function messageId(value: unknown): string | undefined {
  const named = (value as { readonly message?: unknown } | null)?.message;
  return typeof named === "string" ? named : undefined;
}

function resultOf(messages: readonly Message[], step: string): Message | undefined {
  return messages.find(({ parts }) =>
    parts.some((part) => part.type === "tool_result" && stepOf(part) === step),
  );
}

function stepOf({
  name,
  toolCallId,
}: {
  readonly name: string;
  readonly toolCallId: string;
}): string {
  return `tool:${name}:${toolCallId}`;
}

/** Return the names of the tool steps whose answer was an error. */
export function failedSteps(detail: Pick<RunDetail, "messages">): ReadonlySet<string> {
  return new Set(
    (detail.messages as readonly Message[]).flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_result" && part.isError ? [stepOf(part)] : [])),
    ),
  );
}

function inputOf(messages: readonly Message[], toolCallId: string): unknown {
  for (const { parts } of messages) {
    for (const part of parts) {
      if (part.type === "tool_call" && part.toolCallId === toolCallId) return part.input;
    }
  }
  return undefined;
}

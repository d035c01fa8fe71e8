/**
 * What stands in a conversation, in order: from the messages that are stored, the text that is
 * being written and what waits for a person. Pure, and the same whatever the framework.
 *
 * A bubble keeps its key from the first word to the stored message, so its element stays.
 */

import {
  type Alternatives,
  type ChatMessage,
  type ChatState,
  type ChatStatus,
  isBusy,
  type LivePart,
  liveKey,
  messageKey,
  type Part,
  type PendingApproval,
} from "ropewalk";

export interface Call {
  readonly type: "call";
  readonly name: string;
  readonly input: unknown;
  readonly state: "Needs approval" | "Running" | "Done" | "Failed";
  /** There while a person has to decide. */
  readonly approval?: PendingApproval | undefined;
  /** The stored message with the result, when there is one. */
  readonly result?: { readonly messageId: string; readonly text: string } | undefined;
}

export type Piece =
  | Call
  | { readonly type: "text" | "thinking" | "draft" | "data"; readonly text: string }
  | { readonly type: "image" | "link"; readonly url: string; readonly name: string };

export interface Bubble {
  readonly key: string;
  readonly role: ChatMessage["role"];
  readonly label: string;
  /** None while it is being written. */
  readonly messageId?: string;
  readonly pieces: readonly Piece[];
  readonly note?: string | undefined;
  /** Where the conversation has gone on in other ways, too. */
  readonly ways?: Alternatives | undefined;
  /** Whether it is the newest answer, and may be given again. */
  readonly again: boolean;
}

const LABELS = { user: "You", assistant: "Assistant", tool: "Tool", system: "Note" } as const;

const STATUSES: Record<ChatStatus, string> = {
  loading: "Loading",
  idle: "Ready",
  queued: "Starting",
  running: "Working",
  awaiting_input: "Needs your approval",
  completed: "Ready",
  failed: "Failed",
  cancelled: "Stopped",
};

export function statusWord(status: ChatStatus): string {
  return STATUSES[status];
}

export function bubblesOf(chat: ChatState): readonly Bubble[] {
  const { messages, live, pendingApprovals, branches } = chat;
  const results = new Map<string, ChatMessage>();
  const calls = new Set<string>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === "tool_result") results.set(id(message.runId, part.toolCallId), message);
      if (part.type === "tool_call") calls.add(id(message.runId, part.toolCallId));
    }
  }
  const asked = new Map(pendingApprovals.map((one) => [id(one.runId, one.toolCallId), one]));
  const newest = isBusy(chat.status) ? undefined : messages.at(-1);

  const bubble = (message: ChatMessage): Bubble => ({
    key: messageKey(message),
    role: message.role,
    label: LABELS[message.role],
    messageId: message.id,
    pieces: message.parts.map((part) =>
      pieceOf(part, (call) => {
        const key = id(message.runId, call);
        return { result: results.get(key), approval: asked.get(key) };
      }),
    ),
    note: noteOn(message),
    ways: branches.find(({ messageId }) => messageId === message.id),
    again: message === newest && message.role === "assistant",
  });
  // A tool's result stands in the card of its call.
  const hasCard = ({ role, runId, parts }: ChatMessage) =>
    role === "tool" &&
    parts.some((part) => part.type === "tool_result" && calls.has(id(runId, part.toolCallId)));
  const shown = messages.filter((message) => !hasCard(message));
  const written = live.map(
    ({ run, turn, parts }): Bubble => ({
      key: liveKey(run, turn),
      role: "assistant",
      label: "Assistant, writing",
      pieces: parts.map(draftOf),
      again: false,
    }),
  );
  // An agent that was given work asks, too; its conversation is another one.
  const elsewhere = pendingApprovals
    .filter((one) => !calls.has(id(one.runId, one.toolCallId)))
    .map(
      (approval): Bubble => ({
        key: approval.id,
        role: "assistant",
        label: approval.agent,
        pieces: [callOf(approval.name, approval.input, { approval })],
        again: false,
      }),
    );
  return [
    ...shown.filter(({ optimistic }) => !optimistic).map(bubble),
    ...written,
    ...elsewhere,
    ...shown.filter(({ optimistic }) => optimistic).map(bubble),
  ];
}

interface Known {
  readonly result?: ChatMessage | undefined;
  readonly approval?: PendingApproval | undefined;
}

function pieceOf(part: Part, known: (toolCallId: string) => Known): Piece {
  switch (part.type) {
    case "text":
    case "thinking":
      return part;
    case "tool_call":
      return callOf(part.name, part.input, known(part.toolCallId));
    case "tool_result":
      return { type: "data", text: `${part.name}: ${readable(part.output)}` };
    case "data":
      return { type: "data", text: `${part.name}: ${readable(part.value)}` };
    case "file": {
      const { url, mediaType, name = mediaType } = part;
      // An address comes from whoever wrote the message: only those of the web are followed.
      if (!/^https?:/i.test(url)) return { type: "data", text: name };
      return { type: mediaType.startsWith("image/") ? "image" : "link", url, name };
    }
  }
}

function draftOf({ kind, text }: LivePart): Piece {
  return { type: kind === "tool_args" ? "draft" : kind, text };
}

function callOf(name: string, input: unknown, { result, approval }: Known): Call {
  const answer = result?.parts.find((part) => part.type === "tool_result");
  const isOpen = result === undefined || result.status === "open";
  const isBad = result?.status !== "complete" || answer?.isError;
  return {
    type: "call",
    name,
    input,
    state: approval ? "Needs approval" : isOpen ? "Running" : isBad ? "Failed" : "Done",
    approval,
    result: result && { messageId: result.id, text: isOpen ? "" : readable(answer?.output) },
  };
}

function noteOn({ status, waiting }: ChatMessage): string | undefined {
  if (status === "interrupted") return "Cut off here.";
  return waiting && `Waits, number ${waiting.position} in line`;
}

export function readable(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
}

/** Return the arguments that a person wrote as JSON, or throw a sentence that says what is wrong. */
export function argumentsIn(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("This is no JSON.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Error('The arguments are an object: { "name": value, … }');
}

/** Do it; what it may be refused for, the chat shows as its `error`. */
export function quietly(deed: Promise<unknown>): void {
  deed.catch(() => {});
}

function id(runId: string, toolCallId: string): string {
  return `${runId}:${toolCallId}`;
}

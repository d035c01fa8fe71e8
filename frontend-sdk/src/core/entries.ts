/**
 * What stands in a conversation, in order: from the messages that are stored, the text that is
 * being written and what waits for a person, each with a key under which its element can stay.
 *
 * Pure.  A tool's result belongs to its call; what waits and has no call here (an agent that was
 * given work asks, or the call is on an earlier page) stands after what is stored and said.
 *
 * Law: an entry is the same object until something in it changes, so that a list draws again only
 * what is new.  It is remembered by the message that it is made of, as long as that lives.
 */

import type { ChatState } from "./chat-state.js";
import type { LiveTurn } from "./live-text.js";
import { type ChatMessage, liveKey, messageKey } from "./optimistic.js";
import type { Part, PendingApproval, ToolCallPart, ToolResultPart } from "./protocol.gen.js";

/** A tool call with what came of it. */
export interface EntryCall {
  readonly type: "call";
  readonly toolCallId: string;
  readonly name: string;
  readonly input: unknown;
  readonly state: "waiting" | "running" | "done" | "failed" | "interrupted";
  /** There while a person has to decide. */
  readonly approval: PendingApproval | undefined;
  /** The stored message of the result; open while the tool runs. */
  readonly result: ChatMessage | undefined;
  /** What the tool answered, once it has. */
  readonly answer: ToolResultPart | undefined;
}

export type EntryPart =
  | Exclude<Part, ToolCallPart>
  | EntryCall
  /** The arguments of a call, as the model writes them. */
  | { readonly type: "draft"; readonly text: string };

export interface Entry {
  /** The same while it is written and when it is stored. */
  readonly key: string;
  readonly role: ChatMessage["role"];
  readonly parts: readonly EntryPart[];
  /** The message, if it is stored or on its way. */
  readonly message?: ChatMessage;
  /** What is being written. */
  readonly turn?: LiveTurn;
  /** What is asked elsewhere. */
  readonly asked?: PendingApproval;
}

export type Entries = Pick<ChatState, "messages" | "live"> &
  Partial<Pick<ChatState, "pendingApprovals">>;

/** The result of a call, and what it waits for. */
type Around = readonly [result?: ChatMessage | undefined, approval?: PendingApproval | undefined];

const NONE: readonly [] = [];

/** Return what stands in a conversation. Without `pendingApprovals`, no call waits for a person. */
export function entriesOf({ messages, live, pendingApprovals = NONE }: Entries): readonly Entry[] {
  const { stored, elsewhere } = settled(messages, pendingApprovals);
  const spoken = live.map((turn) => kept(turn, NONE, () => written(turn)));
  // What is being said answers what is stored; what is on its way comes after it.
  const first = stored.findIndex(({ message }) => message?.optimistic);
  const at = first < 0 ? stored.length : first;
  return [...stored.slice(0, at), ...spoken, ...elsewhere, ...stored.slice(at)];
}

interface Settled {
  readonly approvals: readonly PendingApproval[];
  readonly stored: readonly Entry[];
  readonly elsewhere: readonly Entry[];
}

const known = new WeakMap<readonly ChatMessage[], Settled>();

/** Return all but what is being written: that changes with each token, and the rest stays. */
function settled(messages: readonly ChatMessage[], approvals: readonly PendingApproval[]): Settled {
  const before = known.get(messages);
  if (before?.approvals === approvals) return before;
  const calls = new Set<string>();
  const results = new Map<string, ChatMessage>();
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === "tool_call") calls.add(callKey(message.runId, part));
      if (part.type === "tool_result") results.set(callKey(message.runId, part), message);
    }
  }
  const asked = new Map(approvals.map((one) => [callKey(one.runId, one), one]));
  const hasCard = (message: ChatMessage) =>
    message.role === "tool" &&
    message.parts.every(
      (part) => part.type === "tool_result" && calls.has(callKey(message.runId, part)),
    );
  const around = (runId: string, part: Part): Around => {
    if (part.type !== "tool_call") return NONE;
    const key = callKey(runId, part);
    return [results.get(key), asked.get(key)];
  };
  const after = {
    approvals,
    stored: messages
      .filter((message) => !hasCard(message))
      .map((message) => {
        const own = message.parts.map((part) => around(message.runId, part));
        return kept(message, own.flat(), () => storedEntry(message, own));
      }),
    elsewhere: approvals
      .filter((one) => !calls.has(callKey(one.runId, one)))
      .map((one) => kept(one, NONE, () => askedEntry(one))),
  };
  known.set(messages, after);
  return after;
}

function storedEntry(message: ChatMessage, around: readonly Around[]): Entry {
  return {
    key: messageKey(message),
    role: message.role,
    message,
    parts: message.parts.map((part, at) =>
      part.type === "tool_call" ? callOf(part, around[at] ?? NONE) : part,
    ),
  };
}

function written(turn: LiveTurn): Entry {
  return {
    key: liveKey(turn.run, turn.turn),
    role: "assistant",
    turn,
    parts: turn.parts.map(({ kind, text }) => ({
      type: kind === "tool_args" ? "draft" : kind,
      text,
    })),
  };
}

function askedEntry(asked: PendingApproval): Entry {
  const parts = [callOf(asked, [undefined, asked])];
  return { key: asked.id, role: "assistant", asked, parts };
}

/** Names a call: providers give the same id to calls of several runs. */
function callKey(runId: string, { toolCallId }: { readonly toolCallId: string }): string {
  return `${runId}:${toolCallId}`;
}

function callOf(
  { toolCallId, name, input }: Omit<ToolCallPart, "type">,
  [result, approval]: Around,
): EntryCall {
  const answer = result?.parts.find(
    (part) => part.type === "tool_result" && part.toolCallId === toolCallId,
  ) as ToolResultPart | undefined;
  return {
    type: "call",
    toolCallId,
    name,
    input,
    state: approval ? "waiting" : stateOf(result?.status, answer),
    approval,
    result,
    answer: result?.status === "open" ? undefined : answer,
  };
}

function stateOf(
  status: ChatMessage["status"] = "open",
  answer: ToolResultPart | undefined,
): EntryCall["state"] {
  if (status === "open") return "running";
  if (status === "interrupted") return "interrupted";
  return status === "failed" || answer?.isError ? "failed" : "done";
}

const remembered = new WeakMap<object, { readonly from: readonly unknown[]; entry: Entry }>();

/** Return the entry that was made of `source` before, if it was made `from` the same. */
function kept(source: object, from: readonly unknown[], make: () => Entry): Entry {
  const before = remembered.get(source);
  if (before?.from.length === from.length && before.from.every((one, at) => one === from[at])) {
    return before.entry;
  }
  const entry = make();
  remembered.set(source, { from, entry });
  return entry;
}

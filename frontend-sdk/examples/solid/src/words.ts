/** What is said about a conversation in words, and what a person writes in answer: of no framework. */

import { type ChatMessage, type ChatStatus, type Entry, type EntryCall, isBusy } from "ropewalk";

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

const STATES: Record<EntryCall["state"], string> = {
  waiting: "Needs approval",
  running: "Running",
  done: "Done",
  failed: "Failed",
  interrupted: "Interrupted",
};

const ROLES = { user: "You", assistant: "Assistant", tool: "Tool", system: "Note" } as const;

export function statusWord(status: ChatStatus): string {
  return STATUSES[status];
}

export function stateWord(call: EntryCall): string {
  return STATES[call.state];
}

/** Who speaks; whoever listens to the page hears whether he still does. */
export function labelOf({ role, turn }: Entry): string {
  return turn ? `${ROLES[role]}, writing` : ROLES[role];
}

export function noteOn(message: ChatMessage | undefined): string | undefined {
  if (message?.status === "interrupted") return "Cut off here.";
  return message?.waiting && `Waits, number ${message.waiting.position} in line`;
}

/** Whether it is the newest answer, and may be given again. */
export function isLast(
  { message }: Entry,
  chat: { readonly messages: readonly ChatMessage[]; readonly status: ChatStatus },
): boolean {
  const newest = chat.messages.at(-1);
  return message !== undefined && message === newest && !isBusy(chat.status);
}

/** An address comes from whoever wrote the message: only those of the web are followed. */
export function isWeb(url: string): boolean {
  return /^https?:/i.test(url);
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

/**
 * Whether a key is Enter and sends. That which ends a composition (Japanese, Chinese ...) is not
 * ours: Safari tells of it when the composition is over, under this code.
 */
export function isSending(event: KeyboardEvent): boolean {
  const composes = event.isComposing || event.keyCode === 229;
  return event.key === "Enter" && !event.shiftKey && !composes;
}

/** Do it; what it may be refused for, the chat shows as its `error`. */
export function quietly(deed: Promise<unknown>): void {
  deed.catch(() => {});
}

/**
 * What a person can do to a chat, as functions that can be handed to buttons: the same in
 * every framework.
 *
 * Chat and options are read when something is done, so that the functions stay the same objects
 * while a framework gives new options at each render, or another thread.  What is refused rejects;
 * a button need not wait for it where the chat's `error` shows it anyway.
 */

import type { Api, ArgsOf, FunctionRef } from "./api.js";
import type { Decidable } from "./approvals.js";
import type { Chat, ForkOptions } from "./chat.js";
import { shownAsWell } from "./errors.js";

type Values = Readonly<Record<string, unknown>>;

/** The arguments of `run` that a chat does not fill in itself; any, of a bare string. */
export type RunArgs<Run> = [ArgsOf<Run>] extends [never]
  ? Values
  : Partial<Omit<ArgsOf<Run>, "input" | "threadKey" | "key">>;

export interface AgentOptions<Run extends FunctionRef = FunctionRef> {
  readonly threadKey: string;
  /** The application's own function that starts a run: `api.chat.startRun`. */
  readonly run: Run;
  /** The application's own function that cancels one. Without it, `cancel` does nothing. */
  readonly cancel?: FunctionRef | undefined;
  /** Sent with every run, below `input` and `threadKey`. */
  readonly runArgs?: RunArgs<Run> | undefined;
}

export interface AgentChatOptions<Run extends FunctionRef = FunctionRef> extends AgentOptions<Run> {
  /** Whether text comes while it is written. Default: true. */
  readonly stream?: boolean | undefined;
}

/** Whose state is to be read, in all four frameworks. */
export interface AgentStateOptions {
  readonly api: Api;
  readonly threadKey: string;
}

export interface AgentActions<Run extends FunctionRef = FunctionRef> {
  readonly run: (input: string, args?: RunArgs<Run>) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
}

export interface AgentChatActions<Run extends FunctionRef = FunctionRef> {
  readonly send: (input: string, args?: RunArgs<Run>) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
  /** Let the run that failed go on from where it failed. */
  readonly retry: () => Promise<void>;
  /** Let a call that waits go on: by its id, or by the approval. */
  readonly approve: (call: string | Decidable, reason?: string) => Promise<void>;
  readonly reject: (call: string | Decidable, reason?: string) => Promise<void>;
  /** Let it go on with other arguments. */
  readonly edit: (call: string | Decidable, input: Values, reason?: string) => Promise<void>;
  /** Answer again what a message, or the newest, answers: in a new branch. Returns its key. */
  readonly regenerate: (messageId?: string) => Promise<string>;
  /** Send a message of the user's with another text: in a new branch. Returns its key. */
  readonly editMessage: (messageId: string, text: string) => Promise<string>;
  /** Show another branch, in all tabs. */
  readonly selectBranch: (key: string) => Promise<void>;
  /** Copy what is shown, up to a message, into a conversation of its own; returns its key. */
  readonly fork: (messageId?: string, options?: ForkOptions) => Promise<string>;
  readonly loadOlder: (limit?: number) => Promise<void>;
  readonly dismissError: () => void;
}

/** Return what can be done to the runs of a thread, by the options of that moment. */
export function agentActions<Run extends FunctionRef>(
  chat: () => Chat,
  options: () => AgentOptions<Run>,
): AgentActions<Run> {
  return {
    run: (input, args) => shownAsWell(chat().send(options(), input, args)),
    cancel: () => chat().cancel(options().cancel),
  };
}

/** Return what can be done to a chat, by the options of that moment. */
export function chatActions<Run extends FunctionRef>(
  chat: () => Chat,
  options: () => AgentChatOptions<Run>,
): AgentChatActions<Run> {
  const { run: send, cancel } = agentActions(chat, options);
  return {
    send,
    cancel,
    retry: () => shownAsWell(chat().retry()),
    approve: (call, reason) => chat().approve(call, reason),
    reject: (call, reason) => chat().reject(call, reason),
    edit: (call, input, reason) => chat().edit(call, input, reason),
    regenerate: (messageId) => shownAsWell(chat().regenerate(messageId)),
    editMessage: (messageId, text) => shownAsWell(chat().editMessage(messageId, text)),
    selectBranch: (key) => shownAsWell(chat().selectBranch(key)),
    fork: (messageId, options) => chat().fork(messageId, options),
    loadOlder: (limit) => chat().loadOlder(limit),
    dismissError: () => chat().dismissError(),
  };
}

import { useMemo } from "react";
import type { Api, ChatState, Decidable, ForkOptions, FunctionRef } from "../core/index.js";
import { useClient } from "./provider.js";
import type { AgentOptions, RunArgs } from "./use-agent.js";
import { useLatest } from "./use-latest.js";
import { useReadable } from "./use-readable.js";

type Input = Readonly<Record<string, unknown>>;

export interface AgentChatOptions<Run extends FunctionRef> extends AgentOptions<Run> {
  /** Whether text comes while it is written. Default: true. */
  readonly stream?: boolean;
}

export interface AgentChat<Run extends FunctionRef> extends ChatState {
  readonly send: (input: string, args?: RunArgs<Run>) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
  /** Let the run that failed go on from where it failed. */
  readonly retry: () => Promise<void>;
  /** Let a call that waits go on: by its id, or by the approval. */
  readonly approve: (call: string | Decidable, reason?: string) => Promise<void>;
  readonly reject: (call: string | Decidable, reason?: string) => Promise<void>;
  /** Let it go on with other arguments. */
  readonly edit: (call: string | Decidable, input: Input, reason?: string) => Promise<void>;
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

/** A whole chat on a thread: its messages, what is being written, and what can be done. */
export function useAgentChat<Run extends FunctionRef>(
  _api: Api,
  options: AgentChatOptions<Run>,
): AgentChat<Run> {
  const client = useClient();
  const latest = useLatest(options);
  const { threadKey, stream = true } = options;
  const chat = useMemo(() => client.chat(threadKey, { stream }), [client, threadKey, stream]);
  const state = useReadable(chat.state);
  const actions = useMemo(
    () => ({
      send: (input: string, args?: RunArgs<Run>) => chat.send(latest.current, input, args),
      cancel: () => chat.cancel(latest.current.cancel),
      retry: () => chat.retry(),
      approve: (call: string | Decidable, reason?: string) => chat.approve(call, reason),
      reject: (call: string | Decidable, reason?: string) => chat.reject(call, reason),
      edit: (call: string | Decidable, input: Input, reason?: string) =>
        chat.edit(call, input, reason),
      regenerate: (messageId?: string) => chat.regenerate(messageId),
      editMessage: (messageId: string, text: string) => chat.editMessage(messageId, text),
      selectBranch: (key: string) => chat.selectBranch(key),
      fork: (messageId?: string, options?: ForkOptions) => chat.fork(messageId, options),
      loadOlder: (limit?: number) => chat.loadOlder(limit),
      dismissError: () => chat.dismissError(),
    }),
    [chat, latest],
  );
  return useMemo(() => ({ ...state, ...actions }), [state, actions]);
}

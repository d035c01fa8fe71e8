import { useMemo } from "react";
import type { AgentState, Api, ArgsOf, FunctionRef } from "../core/index.js";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";
import { useReadable } from "./use-readable.js";

/** The arguments of `run` that the hook does not fill in itself; any, of a bare string. */
export type RunArgs<Run> = [ArgsOf<Run>] extends [never]
  ? Readonly<Record<string, unknown>>
  : Partial<Omit<ArgsOf<Run>, "input" | "threadKey" | "key">>;

export interface AgentOptions<Run extends FunctionRef> {
  readonly threadKey: string;
  /** The application's own function that starts a run: `api.chat.startRun`. */
  readonly run: Run;
  /** The application's own function that cancels one. Without it, `cancel` does nothing. */
  readonly cancel?: FunctionRef;
  /** Sent with every run, below `input` and `threadKey`. */
  readonly runArgs?: RunArgs<Run>;
}

export interface Agent<Run extends FunctionRef> extends AgentState {
  readonly run: (input: string, args?: RunArgs<Run>) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
}

/** Run an agent on a thread and watch its status, without the messages. */
export function useAgent<Run extends FunctionRef>(
  _api: Api,
  options: AgentOptions<Run>,
): Agent<Run> {
  const client = useClient();
  const latest = useLatest(options);
  const { threadKey } = options;
  const chat = useMemo(() => client.chat(threadKey), [client, threadKey]);
  const state = useReadable(chat.agent);
  const actions = useMemo(
    () => ({
      run: (input: string, args?: RunArgs<Run>) => chat.send(latest.current, input, args),
      cancel: () => chat.cancel(latest.current.cancel),
    }),
    [chat, latest],
  );
  return useMemo(() => ({ ...state, ...actions }), [state, actions]);
}

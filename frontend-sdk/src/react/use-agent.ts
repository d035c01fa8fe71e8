import { useMemo } from "react";
import {
  type AgentActions,
  type AgentOptions,
  type AgentState,
  type Api,
  agentActions,
  createChat,
  type FunctionRef,
} from "../core/index.js";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";
import { useReadable } from "./use-readable.js";

export interface Agent<Run extends FunctionRef> extends AgentState, AgentActions<Run> {}

/** Run an agent on a thread and watch its status, without the messages. */
export function useAgent<Run extends FunctionRef>(
  _api: Api,
  options: AgentOptions<Run>,
): Agent<Run> {
  const client = useClient();
  const latest = useLatest(options);
  const { threadKey } = options;
  const chat = useMemo(() => createChat(client, threadKey), [client, threadKey]);
  const state = useReadable(chat.agent);
  const actions = useMemo(
    () =>
      agentActions(
        () => chat,
        () => latest.current,
      ),
    [chat, latest],
  );
  return useMemo(() => ({ ...state, ...actions }), [state, actions]);
}

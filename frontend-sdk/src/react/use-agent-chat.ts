import { useMemo } from "react";
import {
  type AgentChatActions,
  type AgentChatOptions,
  type Api,
  type ChatState,
  chatActions,
  createChat,
  type FunctionRef,
} from "../core/index.js";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";
import { useReadable } from "./use-readable.js";

export interface AgentChat<Run extends FunctionRef> extends ChatState, AgentChatActions<Run> {}

/** A whole chat on a thread: its messages, what is being written, and what can be done. */
export function useAgentChat<Run extends FunctionRef>(
  _api: Api,
  options: AgentChatOptions<Run>,
): AgentChat<Run> {
  const client = useClient();
  const latest = useLatest(options);
  const { threadKey, stream } = options;
  const chat = useMemo(
    () => createChat(client, threadKey, { stream }),
    [client, threadKey, stream],
  );
  const state = useReadable(chat.state);
  const actions = useMemo(
    () =>
      chatActions(
        () => chat,
        () => latest.current,
      ),
    [chat, latest],
  );
  return useMemo(() => ({ ...state, ...actions }), [state, actions]);
}

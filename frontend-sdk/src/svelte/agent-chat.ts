import {
  type AgentChatActions,
  type AgentChatOptions,
  type Api,
  type ChatState,
  chatActions,
  createChat,
  type FunctionRef,
  kept,
} from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type MaybeGetter, read, type Shown } from "./readable.js";

export type AgentChat<Run extends FunctionRef> = ChatState &
  AgentChatActions<Run> &
  Shown<ChatState>;

/**
 * A whole chat on a thread: its messages, what is being written, and what can be done. To follow
 * a thread that changes, give a getter: `() => ({ threadKey: id, run: api.chat.startRun })`.
 */
export function agentChat<Run extends FunctionRef>(
  _api: Api,
  options: MaybeGetter<AgentChatOptions<Run>>,
): AgentChat<Run> {
  const client = getClient();
  const of = kept(({ threadKey, stream }: Pick<AgentChatOptions, "threadKey" | "stream">) =>
    createChat(client, threadKey, { stream }),
  );
  const chat = () => {
    const { threadKey, stream } = read(options);
    return of({ threadKey, stream });
  };
  const actions = chatActions(chat, () => read(options));
  return fromFields(() => chat().state, actions);
}

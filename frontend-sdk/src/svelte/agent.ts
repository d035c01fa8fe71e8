import {
  type AgentActions,
  type AgentOptions,
  type AgentState,
  type Api,
  agentActions,
  createChat,
  type FunctionRef,
  kept,
} from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type MaybeGetter, read, type Shown } from "./readable.js";

export type Agent<Run extends FunctionRef> = AgentState & AgentActions<Run> & Shown<AgentState>;

/** Run an agent on a thread and watch its status, without the messages. */
export function agent<Run extends FunctionRef>(
  _api: Api,
  options: MaybeGetter<AgentOptions<Run>>,
): Agent<Run> {
  const client = getClient();
  const of = kept((threadKey: string) => createChat(client, threadKey));
  const chat = () => of(read(options).threadKey);
  const actions = agentActions(chat, () => read(options));
  return fromFields(() => chat().agent, actions);
}

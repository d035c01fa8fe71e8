import { createMemo } from "solid-js";
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
import { useClient } from "./context.js";
import { access, createFields, type MaybeAccessor } from "./readable.js";

export type Agent<Run extends FunctionRef> = AgentState & AgentActions<Run>;

/** Run an agent on a thread and watch its status, without the messages. */
export function createAgent<Run extends FunctionRef>(
  _api: Api,
  options: MaybeAccessor<AgentOptions<Run>>,
): Agent<Run> {
  const client = useClient();
  const of = kept((threadKey: string) => createChat(client, threadKey));
  const chat = createMemo(() => of(access(options).threadKey));
  const actions = agentActions(chat, () => access(options));
  return createFields(() => chat().agent, actions);
}

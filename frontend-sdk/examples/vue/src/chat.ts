import type { AgentChatActions, ChatState } from "ropewalk";
import type { api } from "./backend.js";

/** What the components below a conversation are handed. */
export type Chat = ChatState & AgentChatActions<typeof api.agents.agentRun>;

import type { AgentChat } from "ropewalk/svelte";
import type { api } from "./backend.js";

/** What the components below a conversation are handed. */
export type Chat = AgentChat<typeof api.agents.agentRun>;

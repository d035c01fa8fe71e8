/** The server's functions as this page knows them, and the one client. */

import { createClient, defineApi, ref } from "ropewalk";
import { freshToken } from "./session.js";

export const AGENT = "support";

export const api = defineApi({
  chat: {
    startRun: ref<{ input: string; threadKey: string }, { id: string }>("chat:startRun"),
    cancelRun: ref<{ threadKey: string; runId: string }, unknown>("chat:cancelRun"),
  },
});

export const client = createClient({ url: "/ws", token: freshToken });

/** The one client of this page, and the server's functions as it knows them. */

import { createClient } from "ropewalk";
import { agents } from "./api.gen.js";
import { freshToken } from "./session.js";

export { api } from "./api.gen.js";

/** Whose conversations the list shows. */
export const AGENTS = [agents.support, agents.orderDesk];

export const client = createClient({ url: "/ws", token: freshToken });

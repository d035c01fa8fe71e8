/** What the pages show, which servers and browsers render alike. */

import { defineApi, query, ref } from "../../../src/core/index.js";

export const api = defineApi({});
export const options = { threadKey: "t-1", run: ref<{ input: string }, unknown>("chat:startRun") };
export const headline = query<Record<string, never>, string>("site:headline");

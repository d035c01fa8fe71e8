/** The thread that the pages show, which servers and browsers render alike. */

import { defineApi, ref } from "../../../src/core/index.js";

export const api = defineApi({});
export const options = { threadKey: "t-1", run: ref<{ input: string }, unknown>("chat:startRun") };

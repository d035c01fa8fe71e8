/** A button that waits for nothing: what it was refused for is shown, and is not uncaught as well. */

import { afterEach, beforeEach, expect, it } from "vitest";
import {
  agentActions,
  approvalActions,
  canonicalId,
  chatActions,
  createApprovals,
  createChat,
} from "../../src/core/index.js";
import { aMessage, aRecord, aThread } from "../support/builders.js";
import { Refusal } from "../support/gateway.js";
import { api, CALLS, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

const KEY = "t-1";
const uncaught: unknown[] = [];
const note = (reason: unknown) => uncaught.push(reason);

beforeEach(() => {
  uncaught.length = 0;
  process.on("unhandledRejection", note);
});

afterEach(() => {
  process.off("unhandledRejection", note);
});

/** Everything that is called is refused. */
async function start() {
  const gateway = await startGateway();
  const row = aMessage({ seq: 1, role: "user" });
  gateway.commit(KEY, [row], aThread({ status: "failed" }));
  const refuse = () => {
    throw new Refusal("FORBIDDEN", "not for you");
  };
  for (const name of ["agentRetry", "agentRegenerate", "agentEditMessage", "agentSelectBranch"]) {
    gateway.handlers.set(`agents:${name}`, refuse);
  }
  for (const name of ["chat:startRun", "agents:agentResolveApproval"]) {
    gateway.handlers.set(name, refuse);
  }
  const client = connect(gateway);
  const chat = createChat(client, KEY);
  chat.state.subscribe(() => {});
  await waitUntil(() => chat.state.get().status === "failed", "it is there");
  const options = () => ({ threadKey: KEY, ...CALLS });
  return {
    client,
    chat,
    gateway,
    ...chatActions(() => chat, options),
    ...agentActions(() => chat, options),
    messageId: row.id,
  };
}

type Page = Awaited<ReturnType<typeof start>>;

it.each<[string, (page: Page) => Promise<unknown>]>([
  ["send", ({ send }) => send("go")],
  ["run", ({ run }) => run("go")],
  ["retry", ({ retry }) => retry()],
  ["regenerate", ({ regenerate }) => regenerate()],
  ["editMessage", ({ editMessage, messageId }) => editMessage(messageId, "otherwise")],
  ["selectBranch", ({ selectBranch }) => selectBranch("t-1~1")],
])("SDK-06 %s shows why, and rejects for whoever waits", async (_, act) => {
  const page = await start();
  const { state } = page.chat;

  void act(page);
  await waitUntil(() => state.get().error?.code === "FORBIDDEN", "it is shown");
  await new Promise(setImmediate);

  expect(uncaught).toEqual([]);
  await expect(act(page)).rejects.toMatchObject({ code: "FORBIDDEN" });
});

it("a decision shows why, and rejects for whoever waits", async () => {
  const { client, gateway } = await start();
  const record = aRecord({ key: KEY });
  gateway.answer(canonicalId(api.agents.agentApprovals, { key: KEY }), [record]);
  const approvals = createApprovals(client, { key: KEY });
  approvals.state.subscribe(() => {});
  const { approve } = approvalActions(() => approvals);

  void approve(record);
  await waitUntil(() => approvals.state.get().error?.code === "FORBIDDEN", "it is shown");
  await new Promise(setImmediate);

  expect(uncaught).toEqual([]);
  await expect(approve(record)).rejects.toMatchObject({ code: "FORBIDDEN" });
});

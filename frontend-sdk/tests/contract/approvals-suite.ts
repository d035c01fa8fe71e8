/** What every adapter's approvals promise: live, decided at once, back if refused. */

import { describe, expect, it } from "vitest";
import {
  type ApprovalActions,
  type ApprovalRecord,
  type ApprovalsState,
  type ChatClient,
  canonicalId,
} from "../../src/core/index.js";
import { aRecord } from "../support/builders.js";
import { Refusal, type TestGateway } from "../support/gateway.js";
import { api, connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import type { Mounted } from "./suite.js";

export interface ApprovalsGiven {
  readonly threadKey?: string;
  readonly status?: "pending" | "all";
}

export type AnyApprovals = ApprovalsState & ApprovalActions;

type Mount = (client: ChatClient, given: ApprovalsGiven) => Mounted<AnyApprovals, ApprovalsGiven>;

const ONE = "agents:agentResolveApproval";
const MANY = "agents:agentResolveApprovals";
const inbox = (args: object = {}) => canonicalId(api.agents.agentApprovals, args as never);
const ids = (rows: readonly ApprovalRecord[]) => rows.map(({ id }) => id);

export function approvalsContract(name: string, mount: Mount): void {
  async function shown(
    gateway: TestGateway,
    rows: readonly ApprovalRecord[],
    given: ApprovalsGiven = {},
  ) {
    const { threadKey: key, ...rest } = given;
    gateway.answer(inbox({ ...rest, ...(key && { key }) }), rows);
    const approvals = mount(connect(gateway), given);
    await waitUntil(() => !approvals.now().loading, "the list is there");
    return approvals;
  }

  describe(`${name}: approvals`, () => {
    it("SDK-15 lists what waits, live, and what was decided", async () => {
      const gateway = await startGateway();
      const rows = [aRecord(), aRecord({ id: "a-0", status: "denied", mayDecide: false })];
      const approvals = await shown(gateway, rows, { threadKey: "t-1", status: "all" });
      expect(ids(approvals.now().pending)).toEqual(["a-1"]);
      expect(ids(approvals.now().decided)).toEqual(["a-0"]);

      gateway.answer(inbox({ key: "t-1", status: "all" }), [...rows, aRecord({ id: "a-2" })]);

      await waitUntil(() => approvals.now().pending.length === 2, "the new one is there");
    });

    it("SDK-15 decides on what was shown, and takes the card away at once", async () => {
      const gateway = await startGateway();
      let answer: (value: unknown) => void = () => {};
      gateway.handlers.set(ONE, () => new Promise((resolve) => (answer = resolve)));
      const approvals = await shown(gateway, [
        aRecord(),
        aRecord({ id: "a-2", toolCallId: "c-2" }),
      ]);
      const [first] = approvals.now().pending as [ApprovalRecord];

      const done = approvals.now().approve(first, "fine");
      await waitUntil(() => approvals.now().pending.length === 1, "the card is gone");
      expect(approvals.now().decided).toMatchObject([
        { id: "a-1", status: "approved", mayDecide: false, reason: "fine" },
      ]);
      await waitUntil(() => gateway.got("call").length === 1, "it was sent");
      gateway.answer(inbox(), [aRecord({ id: "a-2", toolCallId: "c-2" })]);
      answer({});
      await done;

      expect(gateway.got("call")[0]?.args).toEqual({
        key: "t-1",
        toolCallId: "c-1",
        decision: "approved",
        reason: "fine",
        inputHash: "h-1",
      });
      const after = approvals.frames.slice(
        approvals.frames.findIndex(({ value }) => value.pending.length === 1),
      );
      expect(after.every(({ value }) => value.pending.length === 1)).toBe(true);
    });

    it("SDK-15 brings a card back whose decision is refused, and says why until the next", async () => {
      const gateway = await startGateway();
      gateway.handlers.set(ONE, ({ editedInput }) => {
        if (editedInput) throw new Refusal("INVALID_ARGUMENT", "amount: not a number");
        return {};
      });
      const approvals = await shown(gateway, [aRecord({ editable: true })]);
      const [card] = approvals.now().pending as [ApprovalRecord];

      await expect(approvals.now().edit(card, { amount: "much" })).rejects.toMatchObject({
        message: "amount: not a number",
      });
      await waitUntil(() => approvals.now().pending.length === 1, "the card is back");
      expect(approvals.now().error?.code).toBe("INVALID_ARGUMENT");

      const rejected = approvals.now().reject(card);
      await waitUntil(() => approvals.now().error === undefined, "it is forgotten");
      await rejected;
    });

    it("SDK-15 says who was quicker", async () => {
      const gateway = await startGateway();
      gateway.handlers.set(ONE, () => {
        const data = { status: "approved", decidedBy: "ada" };
        throw new Refusal("CONFLICT", "the call was already approved", data);
      });
      const approvals = await shown(gateway, [aRecord()]);
      const [card] = approvals.now().pending as [ApprovalRecord];

      await expect(approvals.now().reject(card)).rejects.toThrow("already approved by ada");
    });

    it.each([{ on: false }, { count: 0 }, { text: "" }, {}])(
      "SDK-15 sends an edit as it is given: %j",
      async (input) => {
        const gateway = await startGateway();
        gateway.handlers.set(ONE, () => ({}));
        const approvals = await shown(gateway, [aRecord({ editable: true })]);
        const [card] = approvals.now().pending as [ApprovalRecord];

        await approvals.now().edit(card, input);

        expect(gateway.got("call")[0]?.args).toMatchObject({
          decision: "approved",
          editedInput: input,
        });
      },
    );

    it("SDK-15 APR-16 decides many in one call for each conversation, all of it or nothing", async () => {
      const gateway = await startGateway();
      gateway.handlers.set(ONE, () => {
        throw new Refusal("FORBIDDEN", "you may not decide this");
      });
      gateway.handlers.set(MANY, () => []);
      const rows = [
        aRecord(),
        aRecord({ id: "a-2", toolCallId: "c-2" }),
        aRecord({ id: "a-3", key: "child", agent: "payer" }),
      ];
      const approvals = await shown(gateway, rows);

      const all = approvals.now().pending.map((approval) => ({
        approval,
        decision: "approved" as const,
      }));
      await expect(approvals.now().decideAll(all)).rejects.toMatchObject({ code: "FORBIDDEN" });

      expect(gateway.got("call").map(({ fn, args }) => [fn, args])).toEqual([
        [
          MANY,
          {
            key: "t-1",
            decisions: [
              { toolCallId: "c-1", decision: "approved", inputHash: "h-1" },
              { toolCallId: "c-2", decision: "approved", inputHash: "h-1" },
            ],
          },
        ],
        [ONE, { key: "child", toolCallId: "c-1", decision: "approved", inputHash: "h-1" }],
      ]);
    });

    it("keeps the rows the same objects that did not change, so that their cards stay as they are", async () => {
      const gateway = await startGateway();
      const approvals = await shown(gateway, [aRecord()]);
      const [first] = approvals.now().pending;

      gateway.answer(inbox(), [aRecord(), aRecord({ id: "a-2" })]);
      await waitUntil(() => approvals.now().pending.length === 2, "the second is there");

      expect(approvals.now().pending[0]).toBe(first);
    });

    it("keeps its functions and its lists the same objects while nothing changes", async () => {
      const gateway = await startGateway();
      const approvals = await shown(gateway, [aRecord()]);
      const { approve, decideAll, pending } = approvals.now();

      approvals.show({});

      expect(approvals.now().approve).toBe(approve);
      expect(approvals.now().decideAll).toBe(decideAll);
      expect(approvals.now().pending).toBe(pending);
    });
  });
}

/** Deciding many, editing by schema, and what is said about it. */

import { type ApprovalRecord, RopewalkError } from "ropewalk";
import { describe, expect, test } from "vitest";
import type { ToolView } from "../src/admin.gen.js";
import { aroundCall } from "../src/inbox/asked.js";
import { onwards, promiseOf } from "../src/inbox/consequence.js";
import { decideMany, sentenceOf } from "../src/inbox/deciding.js";
import { argumentsIn, argumentsOf, fieldsFor, troublesOf } from "../src/inbox/fields.js";
import { byThread, goneFrom, perRun } from "../src/inbox/grouping.js";
import { keptFrom } from "../src/ui/use-kept.js";
import { anApproval, at } from "./build.js";

const ONE = anApproval({ id: "a1", toolCallId: "c1", key: "t1", runId: "r1" });
const TWO = anApproval({ id: "a2", toolCallId: "c2", key: "t2", runId: "r2" });
const THREE = anApproval({ id: "a3", toolCallId: "c3", key: "t1", runId: "r1" });

test("rows that say the same stay the same objects, whatever goes away around them", () => {
  const idOf = ({ id }: ApprovalRecord) => id;
  const first = keptFrom(new Map(), [ONE, TWO, THREE], idOf);
  const next = keptFrom(first, [{ ...TWO }, { ...THREE, mayDecide: false }], idOf);

  expect(next.get("a2")?.row).toBe(TWO);
  expect(next.get("a3")?.row).toMatchObject({ id: "a3", mayDecide: false });
  expect([...next.keys()]).toEqual(["a2", "a3"]);
});

describe("grouping", () => {
  test("calls of a thread stand together, in the order in which threads came", () => {
    expect(
      byThread([ONE, TWO, THREE]).map(({ key, approvals }) => [key, approvals.length]),
    ).toEqual([
      ["t1", 2],
      ["t2", 1],
    ]);
  });

  test("a run's calls are counted, and what is gone is known by its id", () => {
    expect(perRun([ONE, TWO, THREE])).toEqual(
      new Map([
        ["r1", 2],
        ["r2", 1],
      ]),
    );
    expect(goneFrom([ONE, TWO], [{ ...TWO, input: {} }])).toEqual([ONE]);
  });
});

describe("APR-15, APR-16: a batch", () => {
  const server = (refused: string) => {
    const asked: { key: string; decisions: readonly { toolCallId: string }[] }[] = [];
    const call = async (_: string, args: (typeof asked)[number]) => {
      asked.push(args);
      if (args.key === refused) {
        throw new RopewalkError("CONFLICT", "decided", {
          toolCallId: "c3",
          status: "denied",
          decidedBy: "ada",
        });
      }
      return [];
    };
    return { asked, client: { call } as unknown as Parameters<typeof decideMany>[0] };
  };

  test("is one call a thread, on the arguments that were shown, from the admin UI", async () => {
    const { asked, client } = server("none");

    const outcome = await decideMany(client, [ONE, TWO, THREE], {
      decision: "approved",
      reason: "fine",
    });

    expect(outcome).toEqual({ decided: 3, failures: [] });
    expect(asked[0]).toEqual({
      key: "t1",
      via: "dashboard",
      decisions: [ONE, THREE].map(({ toolCallId, inputHash }) => ({
        toolCallId,
        inputHash,
        decision: "approved",
        reason: "fine",
      })),
    });
  });

  test("that fails for one thread is done for the others, and says which call it was and who was quicker", async () => {
    const { client } = server("t1");

    const { decided, failures } = await decideMany(client, [ONE, TWO, THREE], {
      decision: "denied",
    });

    expect(decided).toBe(1);
    expect(failures).toEqual([
      "desk in t1 (pay): It was already rejected by ada. None of its 2 calls was decided.",
    ]);
  });

  test("of many threads asks for a few at a time: a socket takes no more than so many calls", async () => {
    let [open, most] = [0, 0];
    const call = async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((done) => setTimeout(done));
      open -= 1;
    };
    const many = Array.from({ length: 100 }, (_, index) => ({ ...ONE, key: `t${index}` }));

    const client = { call } as unknown as Parameters<typeof decideMany>[0];
    const outcome = await decideMany(client, many, { decision: "denied" });

    expect(outcome).toEqual({ decided: 100, failures: [] });
    expect(most).toBe(16);
  });

  test("of more than the server takes at once is sent in parts", async () => {
    const { asked, client } = server("none");
    const many: readonly ApprovalRecord[] = Array.from({ length: 450 }, (_, index) => ({
      ...ONE,
      id: `a${index}`,
      toolCallId: `c${index}`,
    }));

    const outcome = await decideMany(client, many, { decision: "approved" });

    expect(outcome.decided).toBe(450);
    expect(asked.map(({ decisions }) => decisions.length)).toEqual([200, 200, 50]);
  });
});

test("a conflict says by whom, whatever else is said as it was", () => {
  const lost = new RopewalkError("CONFLICT", "x", { status: "approved", decidedBy: null });

  expect(sentenceOf(lost)).toBe("It was already approved.");
  expect(sentenceOf(new RopewalkError("UNAVAILABLE", "no database"))).toBe("no database");
});

const PAY: ToolView = {
  name: "pay",
  description: "Send  money.\nNow.\n\nArgs: none",
  kind: "inline",
  parameters: {
    properties: {
      to: { type: "string", description: "who" },
      cents: { type: "integer" },
      fast: { type: "boolean" },
      way: { enum: ["wire", "card"], type: "string" },
      more: { type: "object" },
      note: { type: "string" },
    },
    required: ["to", "cents"],
  },
  asks: "always",
  approvers: [],
  editable: true,
};

describe("APR-11, APR-12: editing", () => {
  const input = { to: "Ada", cents: 0, fast: false, extra: [1] };
  const fields = fieldsFor(PAY, { input });

  test("each argument is drawn by its type, what no schema knows as JSON", () => {
    expect(fields.map(({ name, kind, text }) => [name, kind, text])).toEqual([
      ["to", "text", "Ada"],
      ["cents", "number", "0"],
      ["fast", "flag", "false"],
      ["way", "choice", ""],
      ["more", "json", ""],
      ["note", "text", ""],
      ["extra", "json", "[1]"],
    ]);
  });

  test("untouched it is what was asked, falsy values included", () => {
    expect(argumentsOf(fields, {})).toEqual({ value: input });
  });

  test("falsy answers arrive as given", () => {
    const edited = argumentsOf(fields, { to: "", cents: "0", fast: "false" });

    expect(edited).toEqual({ value: { ...input, to: "" } });
  });

  test("what is no number, no JSON or missing is said at its field", () => {
    expect(argumentsOf(fields, { cents: "abc", extra: "{" })).toEqual({
      troubles: { cents: "This has to be a number.", extra: "This is not JSON." },
    });
    expect(argumentsOf(fields, { cents: "" })).toEqual({ troubles: { cents: "This is needed." } });
  });

  test("as JSON it has to be an object", () => {
    expect(argumentsIn('{"cents": 0}')).toEqual({ value: { cents: 0 } });
    expect(argumentsIn("[]")).toEqual({ troubles: { "": "Arguments are an object: { … }" } });
    expect(argumentsIn("{")).toMatchObject({
      troubles: { "": expect.stringContaining("not JSON") },
    });
  });

  test("what the server says stands at the field that it names, else at the whole", () => {
    expect(troublesOf("editedInput does not fit pay: cents: at least 1", fields)).toEqual({
      cents: "editedInput does not fit pay: cents: at least 1",
    });
    expect(troublesOf("no", fields)).toEqual({ "": "no" });
  });
});

test("what happens on approve is the tool's own first paragraph, and when the run goes on", () => {
  expect(promiseOf(PAY)).toBe("Send money. Now.");
  expect(promiseOf(undefined)).toBeUndefined();
  expect(onwards(0)).toBe("The run then goes on.");
  expect(onwards(1)).toBe("The run goes on when the other call of it is decided, too.");
  expect(onwards(3)).toContain("3 other calls");
});

test("why a call waits is what a person said last before it", () => {
  const message = (seq: number, role: "user" | "assistant", text: string, call?: string) => ({
    id: `m${seq}`,
    seq,
    runId: "r1",
    role,
    text,
    parts: call ? [{ type: "tool_call" as const, toolCallId: call, name: "pay", input: {} }] : [],
    status: "complete" as const,
    createdAt: at(seq),
  });
  const messages = [
    message(1, "user", "Pay Ada"),
    message(2, "assistant", "I will", "c1"),
    message(3, "user", "And Bob"),
  ];

  expect(aroundCall(messages, "r1", "c1")).toEqual({ said: "Pay Ada", answered: "I will" });
  expect(aroundCall(messages, "r1", "c9")).toEqual({ said: "And Bob", answered: undefined });
});

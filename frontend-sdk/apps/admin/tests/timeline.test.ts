/** A run's waterfall: the order of bars, waits between them, and an axis that long waits do not eat. */

import { describe, expect, test } from "vitest";
import { contentOf, turnOf } from "../src/runs/content.js";
import { type Row, stepWords, timelineOf } from "../src/runs/timeline.js";
import { aDetail, anApproval, aStep, at, ms } from "./build.js";

const DAY = 86_400_000;

const shape = (rows: readonly Row[]) =>
  rows.map(({ kind, start, end }) => [kind, start - ms(0), end - ms(0)]);

describe("bars", () => {
  test("each turn stands over its steps and lasts as long as they do", () => {
    const detail = aDetail({ status: "completed", finishedAt: at(500) }, [
      aStep("llm:turn:0", 10, 100, { turn: 0 }),
      aStep("tool:pay:c1", 110, 200, { turn: 0 }),
      aStep("llm:turn:1", 210, 400, { turn: 1 }),
    ]);

    expect(shape(timelineOf(detail, ms(9_000)).rows)).toEqual([
      ["turn", 10, 200],
      ["llm", 10, 100],
      ["tool", 110, 200],
      ["turn", 210, 400],
      ["llm", 210, 400],
    ]);
  });

  test("a decision is a wait from when it was asked for", () => {
    const detail = aDetail(
      { finishedAt: at(5_000) },
      [
        aStep("llm:turn:0", 0, 100),
        aStep("approval:c1", null, 4_000),
        aStep("tool:pay:c1", 4_010, 4_100),
      ],
      { approvals: [anApproval({ status: "approved", requestedAt: at(120) })] },
    );

    expect(shape(timelineOf(detail, ms(9_000)).rows)[1]).toEqual(["wait", 120, 4_000]);
  });

  test("a fact of which nobody knows the beginning waits since the step before", () => {
    const detail = aDetail({ finishedAt: at(5_000) }, [
      aStep("llm:turn:0", 0, 100),
      aStep("child:abc", null, 3_000),
    ]);

    expect(shape(timelineOf(detail, ms(9_000)).rows)[1]).toEqual(["wait", 100, 3_000]);
  });

  test("what waits for a person, and what runs, is open until now", () => {
    const waiting = aDetail({ status: "awaiting_input" }, [aStep("llm:turn:0", 0, 100)], {
      approvals: [anApproval({ requestedAt: at(100) })],
    });
    const running = aDetail({ status: "running" }, [aStep("llm:turn:0", 0, 100)]);

    expect(timelineOf(waiting, ms(700)).rows.at(-1)).toMatchObject({
      kind: "wait",
      open: true,
      end: ms(700),
    });
    expect(timelineOf(running, ms(700)).rows.at(-1)).toMatchObject({
      kind: "run",
      open: true,
      start: ms(100),
    });
  });

  test("a run without a step is one open bar, and a finished one none", () => {
    expect(timelineOf(aDetail({ status: "queued" }, []), ms(50)).rows).toHaveLength(1);
    expect(
      timelineOf(aDetail({ status: "cancelled", finishedAt: at(50) }, []), ms(90)).rows,
    ).toEqual([]);
  });

  test("words are for people", () => {
    const detail = aDetail({ finishedAt: at(500) }, [
      aStep("llm:turn:0", 10, 100, { turn: 0 }),
      aStep("tool:pay:c1", 110, 200, { turn: 0 }),
      aStep("tool:pay:c1/state:0", null, 150),
      aStep("approval:c1", null, 300),
    ]);

    expect(timelineOf(detail, ms(0)).rows.map(stepWords)).toEqual([
      "Turn 1",
      "Model call",
      "pay",
      "state of pay",
      "Decision",
    ]);
  });
});

describe("the axis", () => {
  test("is even while nothing waits long", () => {
    const { at: place, gaps } = timelineOf(
      aDetail({ finishedAt: at(1_000) }, [aStep("llm:turn:0", 0, 1_000)]),
      ms(1_000),
    );

    expect(gaps).toEqual([]);
    expect([0, 250, 1_000].map((one) => place(ms(one)))).toEqual([0, 0.25, 1]);
  });

  test("a wait of three days leaves most of the width to the work", () => {
    const steps = [
      aStep("llm:turn:0", 0, 500),
      aStep("approval:c1", null, 3 * DAY),
      aStep("tool:pay:c1", 3 * DAY, 3 * DAY + 500),
    ];
    const { at: place, gaps } = timelineOf(
      aDetail({ finishedAt: at(3 * DAY + 500) }, steps),
      ms(0),
    );

    expect(gaps).toHaveLength(1);
    expect(place(ms(500))).toBeGreaterThan(0.3);
    expect(place(ms(3 * DAY + 500)) - place(ms(3 * DAY))).toBeGreaterThan(0.3);
  });

  test("never goes back, and stays between 0 and 1", () => {
    const steps = [aStep("llm:turn:0", 1_000, 1_500), aStep("tool:pay:c1", DAY, DAY + 10)];
    const { at: place } = timelineOf(aDetail({ finishedAt: at(DAY + 5_000) }, steps), ms(0));
    const places = Array.from({ length: 200 }, (_, index) => place(ms(-10 + index * (DAY / 180))));

    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBe(0);
    expect(Math.max(...places)).toBe(1);
  });
});

describe("what a step was about", () => {
  const common = { runId: "run-1", status: "complete" as const, createdAt: at(0) };
  const messages = [
    {
      ...common,
      id: "m1",
      seq: 1,
      role: "assistant",
      text: "I will pay",
      model: "scripted",
      parts: [
        { type: "thinking", text: "Hm" },
        { type: "text", text: "I will pay" },
        { type: "tool_call", toolCallId: "c1", name: "pay", input: { cents: 0 } },
      ],
    },
    {
      ...common,
      id: "m2",
      seq: 2,
      role: "tool",
      text: "",
      parts: [{ type: "tool_result", toolCallId: "c1", name: "pay", output: false, isError: true }],
    },
  ];

  const costs = { m1: 0.02 };

  test("a model call said, thought and asked for something", () => {
    const step = aStep("llm:turn:0", 0, 1, { value: { message: "m1" } });

    expect(contentOf(step, { messages, costs })).toMatchObject({
      text: "I will pay",
      thinking: "Hm",
      calls: [{ name: "pay", input: { cents: 0 } }],
      model: "scripted",
      cost: 0.02,
    });
  });

  test("a tool was asked with arguments and answered, falsy answers too", () => {
    const step = aStep("tool:pay:c1", 0, 1, { value: "an-id-of-its-own" });

    expect(contentOf(step, { messages, costs })).toMatchObject({
      asked: { cents: 0 },
      answered: false,
    });
  });

  test("a turn begins with its model call, of which its tools are part", () => {
    const call = aStep("llm:turn:0", 0, 1, { value: { message: "m1" } });
    const said = messages.map((one) => ({ ...one, turn: 0 }));

    expect(turnOf(call, { messages })).toBe("m1");
    expect(turnOf(aStep("tool:pay:c1", 0, 1, { turn: 0 }), { messages: said })).toBe("m1");
    expect(turnOf(aStep("tool:pay:c9", 1, 1, { turn: 1 }), { messages: said })).toBeUndefined();
    expect(turnOf(aStep("timer:x", null, 1), { messages: said })).toBeUndefined();
  });

  test("a tool that answered with an error has failed", () => {
    const steps = [aStep("tool:pay:c1", 0, 1), aStep("tool:pay:c2", 1, 2)];
    const { rows } = timelineOf(aDetail({ finishedAt: at(5) }, steps, { messages }), ms(9));

    expect(rows.map(({ failed }) => failed)).toEqual([true, false]);
  });

  test("a step that wrote no message is what it returned", () => {
    expect(contentOf(aStep("timer:x", null, 1), { messages, costs })).toBeUndefined();
    expect(
      contentOf(aStep("timer:x", null, 1, { value: [1] }), { messages, costs }),
    ).toBeUndefined();
  });
});

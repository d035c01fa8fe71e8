import { describe, expect, it } from "vitest";
import { agent, outputOf } from "../../src/core/index.js";

const triage = agent<"triage", Record<never, never>, unknown, unknown>("triage");

describe("LOOP-12 an agent's output", () => {
  it.each([[{ urgent: true }], [false], [0], [""], [[]]])(
    "is that of the thread, as it was given: %j",
    (output) => {
      expect(outputOf(triage, { agent: "triage", output })).toBe(output);
    },
  );

  it("is null until a run has given one", () => {
    expect(outputOf(triage, { agent: "triage" })).toBeNull();
    expect(outputOf(triage, null)).toBeNull();
    expect(outputOf(triage, undefined)).toBeNull();
  });

  it("is not that of another agent", () => {
    expect(outputOf(triage, { agent: "support", output: { urgent: true } })).toBeNull();
  });
});

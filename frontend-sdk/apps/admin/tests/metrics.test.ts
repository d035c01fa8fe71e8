import { describe, expect, it } from "vitest";
import { withinOf } from "../src/system/metrics.js";

const TEXT = `# HELP ropewalk_wire_lag_seconds From a change's commit to the sockets.
# TYPE ropewalk_wire_lag_seconds histogram
ropewalk_wire_lag_seconds_bucket{le="0.005"} 90.0
ropewalk_wire_lag_seconds_bucket{le="0.01"} 97.0
ropewalk_wire_lag_seconds_bucket{le="+Inf"} 100.0
ropewalk_wire_lag_seconds_count 100.0
ropewalk_other_seconds_bucket{le="0.1"} 0.0
ropewalk_other_seconds_bucket{le="+Inf"} 0.0
`;

describe("a histogram", () => {
  it.each([
    [0.5, 0.005],
    [0.95, 0.01],
    [0.99, undefined],
  ])("says within what %d of all lie", (share, bound) => {
    expect(withinOf(TEXT, "ropewalk_wire_lag_seconds", share)).toBe(bound);
  });

  it.each(["ropewalk_other_seconds", "ropewalk_none_seconds"])("says nothing of %s", (name) => {
    expect(withinOf(TEXT, name, 0.95)).toBeUndefined();
  });
});

/** The last hour in bars: pure arithmetic, so that what is drawn can be tested. */

import type { MinuteRow } from "../admin.gen.js";

export interface Bar {
  readonly minute: string;
  readonly value: number;
  /** Of the tallest, from 0 to 1. */
  readonly height: number;
}

export type Series = "started" | "completed" | "failed" | "cancelled";

const MINUTES = 60;
const MINUTE_MS = 60_000;

/** Return a bar for each of the last sixty minutes, also for those that nothing happened in. */
export function barsOf(rows: readonly MinuteRow[], series: Series, now: number): readonly Bar[] {
  const found = new Map(rows.map((row) => [Math.floor(Date.parse(row.minute) / MINUTE_MS), row]));
  const last = Math.floor(now / MINUTE_MS);
  const values = Array.from({ length: MINUTES }, (_, index) => {
    const minute = last - MINUTES + 1 + index;
    return {
      minute: new Date(minute * MINUTE_MS).toISOString(),
      value: found.get(minute)?.[series] ?? 0,
    };
  });
  const most = Math.max(1, ...values.map(({ value }) => value));
  return values.map((one) => ({ ...one, height: one.value / most }));
}

export function totalOf(bars: readonly Bar[]): number {
  return bars.reduce((total, { value }) => total + value, 0);
}

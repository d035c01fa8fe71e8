/** Values in bars: pure arithmetic, so that what is drawn can be tested. */

export interface Bar {
  /** When it begins. */
  readonly at: string;
  readonly value: number;
  /** Of the tallest, from 0 to 1. */
  readonly height: number;
}

/**
 * Return a bar for each of the last `count` spans up to now, also for those in which nothing was.
 *
 * `rows` say when a span of theirs begins, and its value.
 */
export function barsOver(
  rows: readonly { readonly at: string; readonly value: number }[],
  span: { readonly ms: number; readonly count: number },
  now: number,
): readonly Bar[] {
  const found = new Map(rows.map(({ at, value }) => [Math.floor(Date.parse(at) / span.ms), value]));
  const last = Math.floor(now / span.ms);
  const values = Array.from({ length: span.count }, (_, index) => {
    const which = last - span.count + 1 + index;
    return { at: new Date(which * span.ms).toISOString(), value: found.get(which) ?? 0 };
  });
  const most = Math.max(...values.map(({ value }) => value));
  return values.map((one) => ({ ...one, height: most > 0 ? one.value / most : 0 }));
}

export function totalOf(bars: readonly Bar[]): number {
  return bars.reduce((total, { value }) => total + value, 0);
}

export function mostOf(bars: readonly Bar[]): number {
  return Math.max(0, ...bars.map(({ value }) => value));
}

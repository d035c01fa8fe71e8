/** What one of Prometheus's histograms says, from the text that a gateway serves. */

/**
 * Return below which seconds this share of the observations lie, as the next larger bound of the
 * histogram; undefined where nothing was observed, or not within its largest bound.
 */
export function withinOf(text: string, histogram: string, share: number): number | undefined {
  const buckets: { readonly bound: number; readonly count: number }[] = [];
  const line = new RegExp(`^${histogram}_bucket\\{le="([^"]+)"\\} (\\S+)$`, "gm");
  for (const [, bound, count] of text.matchAll(line)) {
    buckets.push({ bound: bound === "+Inf" ? Infinity : Number(bound), count: Number(count) });
  }
  const total = buckets.at(-1)?.count ?? 0;
  if (total === 0) return undefined;
  const bound = buckets.find(({ count }) => count >= total * share)?.bound;
  return bound === Infinity ? undefined : bound;
}

/** Pure words for times, durations, sizes and counts. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Return how long ago `then` was, as "3 min ago"; what lies ahead is "in 2 h". */
export function ago(then: number, now: number): string {
  const passed = now - then;
  if (Math.abs(passed) < 5 * SECOND) return "just now";
  return passed > 0 ? `${roughly(passed)} ago` : `in ${roughly(-passed, Math.round)}`;
}

/** Return a length of time in its largest unit. */
export function roughly(ms: number, whole: (count: number) => number = Math.floor): string {
  if (ms < MINUTE) return `${whole(ms / SECOND)} s`;
  if (ms < HOUR) return `${whole(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${whole(ms / HOUR)} h`;
  return `${whole(ms / DAY)} days`;
}

/** Return a length of time as exactly as it matters: 12 ms, 1.24 s, 2 min 5 s, 3 h 10 min. */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1) return "<1 ms";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 2 : 1)} s`;
  if (ms < HOUR) return both(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return both(ms, HOUR, "h", MINUTE, "min");
  return both(ms, DAY, "d", HOUR, "h");
}

function both(ms: number, large: number, one: string, small: number, other: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${one}${rest > 0 ? ` ${rest} ${other}` : ""}`;
}

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function exact(at: string): string {
  return EXACT.format(new Date(at));
}

export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Return dollars: cents where they matter, more where there is less. */
export function dollars(amount: number): string {
  const digits = amount === 0 || amount >= 1 ? 2 : 4;
  return `$${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
}

/** Return hours with as many digits as matter. */
export function hours(count: number): string {
  return `${count.toLocaleString("en", { maximumFractionDigits: count < 10 ? 2 : 0 })} h`;
}

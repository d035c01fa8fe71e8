/** When a run began, as the address says it and as the server is asked. */

const HOUR_S = 60 * 60;

export const TIMES = ["hour", "day", "week", "between"] as const;

export const TIME_WORDS: Readonly<Record<string, string>> = {
  hour: "in the last hour",
  day: "in the last day",
  week: "in the last week",
  between: "between …",
};

const WITHIN_S: Readonly<Record<string, number>> = {
  hour: HOUR_S,
  day: 24 * HOUR_S,
  week: 7 * 24 * HOUR_S,
};

interface Said {
  readonly time?: string;
  readonly since?: string;
  readonly until?: string;
  readonly minTokens?: string;
}

interface Asked {
  readonly withinS?: number;
  readonly since?: string;
  readonly until?: string;
  readonly minTokens?: number;
}

/** Return what to ask; what is no time and no number is not asked. */
export function askedOf({ time, since, until, minTokens }: Said): Asked {
  const within = time === undefined ? undefined : WITHIN_S[time];
  const tokens = Number(minTokens);
  return {
    ...(within !== undefined && { withinS: within }),
    ...(time === "between" && isMoment(since) && { since }),
    ...(time === "between" && isMoment(until) && { until }),
    ...(minTokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0
      ? { minTokens: tokens }
      : {}),
  };
}

function isMoment(text: string | undefined): text is string {
  return text !== undefined && /(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** Return a moment as a field for local dates and times shows it. */
export function localOf(moment: string): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Return the moment that such a field says; empty: none. */
export function momentOf(local: string): string {
  const at = new Date(local);
  return local === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}

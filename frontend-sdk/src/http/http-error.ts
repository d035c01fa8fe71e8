/** What a request can fail with: the codes of the socket, and what HTTP says besides. */

import { asError, type ClientErrorCode, RopewalkError } from "../core/errors.js";
import type { Fault } from "./http.gen.js";

export class HttpError extends RopewalkError {
  /** Of the answer; undefined when there was none. */
  readonly status: number | undefined;
  /** How long the server asks to wait, if it says so. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ClientErrorCode,
    message: string,
    { data, status, retryAfterMs }: { data?: unknown; status?: number; retryAfterMs?: number } = {},
  ) {
    super(code, message, data);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What a proxy means that answers in the server's place. */
const CODES: Readonly<Record<number, ClientErrorCode>> = {
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  408: "UNAVAILABLE",
  409: "CONFLICT",
  413: "PAYLOAD_TOO_LARGE",
  429: "RATE_LIMITED",
  500: "INTERNAL",
};

/** The same request may well succeed a moment later. */
const PASSING: ReadonlySet<number | undefined> = new Set([undefined, 408, 429, 502, 503, 504]);

/** A server that asks for more is not waited for: the caller is told how long. */
const LONGEST_WAIT_MS = 60_000;

/** Return the error that an answer without success is. */
export function refusal(response: Response, text: string): HttpError {
  const { status } = response;
  const fault = faultIn(text);
  const code = CODES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "UNAVAILABLE");
  const retryAfterMs = waitIn(response.headers.get("retry-after"));
  return new HttpError(
    (fault?.code as ClientErrorCode | undefined) ?? code,
    fault?.message ?? `the server answered ${status}`,
    { data: fault?.data, status, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  );
}

/** Return the error of a request that had no answer, or none to its end. */
export function unanswered(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) return thrown;
  const error = new HttpError("UNAVAILABLE", asError(thrown).message);
  error.cause = thrown;
  return error;
}

/** Whether it is worth while to make the same request again. */
export function isPassing({ status, retryAfterMs = 0 }: HttpError): boolean {
  return PASSING.has(status) && retryAfterMs <= LONGEST_WAIT_MS;
}

function faultIn(text: string): Fault | undefined {
  try {
    const said = JSON.parse(text) as Partial<Fault> | null;
    return typeof said?.code === "string" && typeof said.message === "string"
      ? (said as Fault)
      : undefined;
  } catch {
    return undefined;
  }
}

/** `Retry-After` is seconds or a date. */
function waitIn(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Errors that a caller can act on. `code` is stable, the sentence is for people. */

import type { ErrorCode, ErrorFrame } from "./protocol.gen.js";

/** The wire's codes and the two that only a client can know. */
export type ClientErrorCode =
  | ErrorCode
  /** The client was closed. */
  | "CLOSED"
  /** The send was taken back by `cancel` before it had left. */
  | "CANCELLED";

export class RopewalkError extends Error {
  override readonly name = "RopewalkError";
  readonly code: ClientErrorCode;
  readonly data: unknown;

  constructor(code: ClientErrorCode, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function errorOf(frame: ErrorFrame): RopewalkError {
  return new RopewalkError(frame.code, frame.message, frame.data);
}

/** Return `thrown` as an error of ours; what a caller's own callback threw is `UNAVAILABLE`. */
export function asError(thrown: unknown): RopewalkError {
  if (thrown instanceof RopewalkError) return thrown;
  return new RopewalkError(
    "UNAVAILABLE",
    thrown instanceof Error ? thrown.message : String(thrown),
  );
}

/** Return what rejects for whoever waits; if nobody does, it is uncaught no more: it is shown. */
export function shownAsWell<T>(deed: Promise<T>): Promise<T> {
  deed.catch(() => {});
  return deed;
}

/** Whether the same request may succeed later without a change. */
export function isTransient(error: RopewalkError): boolean {
  return error.code === "UNAVAILABLE" || error.code === "INTERNAL" || error.code === "RATE_LIMITED";
}

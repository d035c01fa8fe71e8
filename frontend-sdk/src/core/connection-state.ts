/**
 * The life of a connection: its states, its events, and the one function that moves it.
 *
 * Nothing here opens a socket, reads a clock or draws a random number; `connection.ts`
 * carries out the effects.
 *
 *            wanted            opened             welcomed
 *     idle ---------> dialing ---------> greeting ---------> open
 *      ^               ^   | lost           | lost             | lost, goodbye
 *      | unwanted      |   v                v                  v
 *      +---------------+--waiting <---------+------------------+
 *                 due, woken
 *
 *     stopped is reached from every state: by `stop`, or when the server speaks
 *     another protocol.  An event that a state does not know changes nothing: the
 *     outside is late at times.
 */

import type { RopewalkError } from "./errors.js";
import { CLOSE_PROTOCOL, type IdentityView } from "./protocol.gen.js";

/** A connection that held this long was a good one: the next failure is the first again. */
const GOOD_AFTER_MS = 5_000;
const BACKOFF_BASE_MS = 300;
const BACKOFF_CAP_MS = 15_000;
/** A draining server names a delay for everybody; over this much the clients spread. */
const GOODBYE_SPREAD_MS = 1_000;

export type ConnectionState =
  | { readonly name: "idle" }
  | { readonly name: "dialing"; readonly failures: number }
  | { readonly name: "greeting"; readonly failures: number }
  | {
      readonly name: "open";
      readonly failures: number;
      readonly since: number;
      readonly session: string;
      readonly identity: IdentityView | null;
    }
  | { readonly name: "waiting"; readonly failures: number; readonly error?: RopewalkError }
  | { readonly name: "stopped"; readonly error?: RopewalkError };

export type ConnectionEvent =
  | { readonly type: "wanted" }
  | { readonly type: "unwanted" }
  | { readonly type: "opened" }
  | {
      readonly type: "welcomed";
      readonly at: number;
      readonly session: string;
      readonly identity: IdentityView | null;
    }
  | {
      readonly type: "lost";
      readonly at: number;
      /** In [0, 1). */
      readonly jitter: number;
      readonly code?: number;
      readonly error?: RopewalkError;
    }
  | { readonly type: "goodbye"; readonly retryAfterMs: number; readonly jitter: number }
  | { readonly type: "due" }
  | { readonly type: "woken" }
  | { readonly type: "stop"; readonly error?: RopewalkError };

export type ConnectionEffect =
  /** Ask for a token and open a socket. */
  | { readonly type: "dial" }
  /** Say hello on the socket that has opened. */
  | { readonly type: "greet" }
  /** Ask the server whether it is still there, and be quick to doubt it. */
  | { readonly type: "probe" }
  /** Give up the socket, or the attempt at one. */
  | { readonly type: "hang-up" }
  /** Come back with `due`. */
  | { readonly type: "wait"; readonly ms: number };

type Step = readonly [ConnectionState, readonly ConnectionEffect[]];

export const IDLE: ConnectionState = { name: "idle" };

/**
 * Return how long to wait after the `failures`-th failure in a row, counted from 0.
 *
 * Exponential with full jitter, so that clients which were cut off together do not
 * come back together.  Source: M. Brooker, "Exponential Backoff and Jitter", AWS
 * Architecture Blog, 2015.
 */
export function backoffMs(failures: number, jitter: number): number {
  return Math.min(BACKOFF_BASE_MS * 2 ** failures, BACKOFF_CAP_MS) * jitter;
}

/** Return the state after `event` and the effects owed for it, in order. */
export function advance(state: ConnectionState, event: ConnectionEvent): Step {
  const stay: Step = [state, []];
  if (state.name === "stopped") return stay;
  switch (event.type) {
    case "wanted":
      return state.name === "idle" ? [{ name: "dialing", failures: 0 }, [{ type: "dial" }]] : stay;
    case "unwanted":
      return state.name === "idle" ? stay : [IDLE, [{ type: "hang-up" }]];
    case "opened":
      return state.name === "dialing"
        ? [{ ...state, name: "greeting" }, [{ type: "greet" }]]
        : stay;
    case "welcomed":
      return welcomed(state, event);
    case "lost":
      return lost(state, event);
    case "goodbye":
      if (state.name !== "open") return stay;
      return wait(0, event.retryAfterMs + event.jitter * GOODBYE_SPREAD_MS);
    case "due":
      return state.name === "waiting" ? redial(state.failures) : stay;
    case "woken":
      if (state.name === "waiting") return redial(state.failures);
      return state.name === "open" ? [state, [{ type: "probe" }]] : stay;
    case "stop":
      return [stopped(event.error), [{ type: "hang-up" }]];
    default:
      event satisfies never;
      return stay;
  }
}

function welcomed(
  state: ConnectionState,
  { at, session, identity }: ConnectionEvent & { type: "welcomed" },
): Step {
  if (state.name === "open") return [{ ...state, session, identity }, []];
  if (state.name !== "greeting") return [state, []];
  return [{ name: "open", failures: state.failures, since: at, session, identity }, []];
}

function lost(state: ConnectionState, event: ConnectionEvent & { type: "lost" }): Step {
  if (state.name !== "dialing" && state.name !== "greeting" && state.name !== "open") {
    return [state, []];
  }
  if (event.code === CLOSE_PROTOCOL) return [stopped(event.error), [{ type: "hang-up" }]];
  const good = state.name === "open" && event.at - state.since >= GOOD_AFTER_MS;
  const failures = good ? 0 : state.failures;
  return wait(failures + 1, backoffMs(failures, event.jitter), event.error);
}

function redial(failures: number): Step {
  return [{ name: "dialing", failures }, [{ type: "dial" }]];
}

function wait(failures: number, ms: number, error?: RopewalkError): Step {
  const state: ConnectionState = { name: "waiting", failures, ...(error && { error }) };
  return [state, [{ type: "hang-up" }, { type: "wait", ms }]];
}

function stopped(error?: RopewalkError): ConnectionState {
  return { name: "stopped", ...(error && { error }) };
}

/**
 * The shell of `connection-state.ts`: one socket, its timers, and the token.
 *
 * Law: the token callback is asked on every connect and whenever the server says that
 * the token ran out, so that a page which slept through its token's life comes back by
 * itself.  Events of a socket that was given up are never heard.
 */

import {
  advance,
  type ConnectionEffect,
  type ConnectionEvent,
  type ConnectionState,
  IDLE,
} from "./connection-state.js";
import type { Environment, Socket } from "./environment.js";
import { asError, errorOf, RopewalkError } from "./errors.js";
import {
  type ClientFrame,
  type ErrorFrame,
  type Goodbye,
  type Pong,
  PROTOCOL_VERSION,
  type ServerFrame,
  SUBPROTOCOL,
  type Welcome,
} from "./protocol.gen.js";
import { encodeClientFrame, parseServerFrame } from "./protocol.js";
import { Cell } from "./store.js";

/** A token, or how to get one. `null` is anonymous. */
export type TokenSource =
  | string
  | null
  | (() => string | null | undefined | Promise<string | null | undefined>);

/** From the first attempt at a socket to its `welcome`. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long a `ping` may go without any frame. */
const PONG_TIMEOUT_MS = 5_000;

/** What a socket is for. */
export type DataFrame = Exclude<ServerFrame, Welcome | Pong | Goodbye>;

export interface ConnectionOptions {
  readonly url: string;
  readonly token: TokenSource;
  readonly environment: Environment;
  /** Called with each welcome: of a new socket (`fresh`), or of a new token on the old one. */
  readonly onWelcome: (welcome: Welcome, fresh: boolean) => void;
  /** Called with every frame that is not the connection's own business. */
  readonly onFrame: (frame: DataFrame) => void;
  /** Called when there will be no connection any more. */
  readonly onStopped: (error: RopewalkError) => void;
}

export class Connection {
  readonly state = new Cell<ConnectionState>(IDLE);
  readonly #options: ConnectionOptions;
  readonly #environment: Environment;
  #socket: Socket | undefined;
  /** Grows with each attempt; what belongs to an earlier one is stale. */
  #attempt = 0;
  #heartbeatMs = 0;
  #heard = 0;
  /** What the next `hello` will say. */
  #presented: string | undefined;
  /** From asking for a new token to the server's word on it. */
  #authenticating = false;
  /** Whether the token was changed since it was asked for. */
  #outdated = false;
  #stopTimer: () => void = () => {};
  #stopWaking: () => void = () => {};

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#environment = options.environment;
  }

  /** Be connected, or on the way to it. */
  want(): void {
    this.#step({ type: "wanted" });
  }

  /** Nobody needs the connection just now. */
  release(): void {
    this.#step({ type: "unwanted" });
  }

  stop(error?: RopewalkError): void {
    this.#step({ type: "stop", ...(error && { error }) });
  }

  /** Send on the open connection; false when there is none. */
  send(frame: ClientFrame): boolean {
    return this.sendText(encodeClientFrame(frame));
  }

  /** As `send`, what is encoded already. */
  sendText(text: string): boolean {
    if (this.state.get().name !== "open") return false;
    this.#socket?.send(text);
    return true;
  }

  /** Present a new token: on the live socket, or as soon as there is a word on the last one. */
  async authenticate(): Promise<void> {
    this.#outdated = this.state.get().name !== "open" || this.#authenticating;
    if (this.#outdated) return;
    const attempt = this.#attempt;
    this.#authenticating = true;
    try {
      const token = await this.#token();
      if (attempt !== this.#attempt) return;
      // Signed out: only a new socket can be anonymous.
      if (token === undefined)
        this.#lost({ error: new RopewalkError("UNAUTHENTICATED", "no token") });
      else this.send({ type: "auth", token });
    } catch (thrown) {
      if (attempt === this.#attempt) this.#lost({ error: asError(thrown) });
    }
  }

  #step(event: ConnectionEvent): void {
    const before = this.state.get();
    const [after, effects] = advance(before, event);
    // Effects first: who is told of a new state may already use it.
    this.state.put(after);
    for (const effect of effects) this.#perform(effect);
    if (after === before) return;
    if (before.name === "idle") {
      this.#stopWaking = this.#environment.onWake(() => this.#step({ type: "woken" }));
    }
    if (after.name === "idle" || after.name === "stopped") this.#stopWaking();
    this.state.notify();
    if (after.name === "stopped") {
      this.#options.onStopped(after.error ?? new RopewalkError("CLOSED", "the client was closed"));
    }
  }

  #perform(effect: ConnectionEffect): void {
    switch (effect.type) {
      case "dial":
        void this.#dial();
        break;
      case "greet":
        this.#greet();
        break;
      case "probe":
        this.#ping();
        break;
      case "hang-up":
        this.#hangUp();
        break;
      case "wait":
        this.#timer(effect.ms, () => this.#step({ type: "due" }));
        break;
      default:
        effect satisfies never;
    }
  }

  async #dial(): Promise<void> {
    this.#attempt += 1;
    this.#outdated = false;
    const attempt = this.#attempt;
    const current = () => attempt === this.#attempt;
    this.#timer(CONNECT_TIMEOUT_MS, () => {
      this.#lost({ error: new RopewalkError("UNAVAILABLE", "the server did not answer") });
    });
    try {
      const token = await this.#token();
      if (!current()) return;
      this.#presented = token;
      const socket = this.#environment.open(this.#options.url, SUBPROTOCOL);
      this.#socket = socket;
      socket.onopen = () => {
        if (current()) this.#step({ type: "opened" });
      };
      socket.onmessage = ({ data }) => {
        if (current()) this.#receive(data);
      };
      socket.onclose = ({ code, reason }) => {
        if (!current()) return;
        this.#lost({ code, error: new RopewalkError("UNAVAILABLE", reason || "disconnected") });
      };
      socket.onerror = () => {};
    } catch (thrown) {
      if (current()) this.#lost({ error: asError(thrown) });
    }
  }

  #greet(): void {
    const token = this.#presented;
    this.#socket?.send(
      encodeClientFrame({ type: "hello", protocol: PROTOCOL_VERSION, ...(token && { token }) }),
    );
  }

  async #token(): Promise<string | undefined> {
    const { token } = this.#options;
    return (typeof token === "function" ? await token() : token) ?? undefined;
  }

  #receive(data: unknown): void {
    this.#heard = this.#environment.now();
    const frame = parseServerFrame(data);
    if (frame === undefined) return;
    switch (frame.type) {
      case "pong":
        break;
      case "welcome":
        this.#welcome(frame);
        break;
      case "goodbye": {
        const retryAfterMs = (frame.retryAfter ?? 0) * 1000;
        this.#step({ type: "goodbye", retryAfterMs, jitter: this.#environment.random() });
        break;
      }
      case "error":
        if (frame.id === undefined) this.#complain(frame);
        else this.#options.onFrame(frame);
        break;
      default:
        this.#options.onFrame(frame);
    }
  }

  #welcome(frame: Welcome): void {
    const { session, identity } = frame;
    const fresh = this.state.get().name !== "open";
    this.#authenticating = false;
    this.#step({ type: "welcomed", at: this.#environment.now(), session, identity });
    this.#heartbeatMs = frame.heartbeat * 1000;
    this.#timer(this.#heartbeatMs, () => this.#beat());
    this.#options.onWelcome(frame, fresh);
    if (this.#outdated) void this.authenticate();
  }

  /** An error about the socket itself: of our token, or a frame the server did not like. */
  #complain(frame: ErrorFrame): void {
    const open = this.state.get().name === "open";
    // A token that was shown and is not taken, for whatever reason, is tried on the next socket:
    // the way of every failure, with its growing pauses.
    if (!open || this.#authenticating) this.#lost({ error: errorOf(frame) });
    else if (frame.code === "UNAUTHENTICATED") void this.authenticate();
  }

  #beat(): void {
    const silence = this.#environment.now() - this.#heard;
    if (silence >= this.#heartbeatMs) this.#ping();
    else this.#timer(this.#heartbeatMs - silence, () => this.#beat());
  }

  #ping(): void {
    const asked = this.#environment.now();
    this.send({ type: "ping" });
    this.#timer(PONG_TIMEOUT_MS, () => {
      if (this.#heard >= asked) this.#beat();
      else this.#lost({ error: new RopewalkError("UNAVAILABLE", "the server fell silent") });
    });
  }

  #lost(cause: { readonly code?: number; readonly error: RopewalkError }): void {
    this.#step({
      type: "lost",
      at: this.#environment.now(),
      jitter: this.#environment.random(),
      ...cause,
    });
  }

  #hangUp(): void {
    this.#attempt += 1;
    this.#authenticating = false;
    this.#stopTimer();
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** There is one timer: what the present state waits for. */
  #timer(ms: number, then: () => void): void {
    this.#stopTimer();
    this.#stopTimer = this.#environment.after(ms, then);
  }
}

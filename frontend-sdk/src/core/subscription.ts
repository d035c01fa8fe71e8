/**
 * One query that is watched: what is known of it, and the asking for more.
 *
 * Laws: after a reconnect it is asked for again with its cursor, after a gap as well, and
 * after a passing error by itself; not after an error of a query whose subscription stands,
 * which the server asks again.  Rows and the live text that they finish change in one
 * step, so no reader ever sees a message beside the text it grew from.
 */

import type { Environment } from "./environment.js";
import { errorOf, isTransient, type RopewalkError } from "./errors.js";
import { applyToken, type LiveText, SILENT, settleTurns } from "./live-text.js";
import {
  AGENT_MESSAGES,
  type ClientFrame,
  type Delta,
  type ErrorFrame,
  type Message,
  type Snapshot,
  type Token,
} from "./protocol.gen.js";
import { Cell } from "./store.js";
import {
  applyDelta,
  applySnapshot,
  judge,
  prepend,
  type QueryState,
  UNASKED,
} from "./thread-state.js";

/** Token frames may come faster than anybody can look. */
const TOKEN_NOTICE_MS = 16;
/** A page that draws for 1 ms is left alone for so many. */
const IDLE_SHARE = 2;
const MAX_NOTICE_MS = 250;
const RETRY_MS = 1_000;

/** What is known of a query. */
export interface SubscriptionView<T = unknown> {
  /** Undefined until the first answer. */
  readonly value: T | undefined;
  readonly error: RopewalkError | undefined;
  readonly loading: boolean;
}

export interface SubscriptionState {
  readonly view: SubscriptionView;
  readonly live: LiveText;
}

export const LOADING: SubscriptionState = {
  view: { value: undefined, error: undefined, loading: true },
  live: SILENT,
};

export type SubscriptionFrame = Snapshot | Delta | Token | ErrorFrame;

export class Subscription {
  readonly id: string;
  readonly state: Cell<SubscriptionState>;
  readonly #query: string;
  readonly #args: Readonly<Record<string, unknown>>;
  readonly #environment: Environment;
  readonly #send: (frame: ClientFrame) => boolean;
  /** Whether the value is rows of a thread, that change one by one. */
  readonly #list: boolean;
  #known: QueryState;
  #watchers = 0;
  /** Asked and not answered: what comes until then may be of an earlier asking. */
  asking = false;
  #refused = false;
  /** The text so far was asked for again, and nothing has begun anew since. */
  #refilling = false;
  #noticing = false;
  #stopLinger: () => void = () => {};
  #stopRetry: () => void = () => {};

  constructor(
    id: string,
    query: string,
    args: Readonly<Record<string, unknown>>,
    environment: Environment,
    send: (frame: ClientFrame) => boolean,
    known: QueryState = UNASKED,
  ) {
    this.id = id;
    this.#known = known;
    const { value } = known;
    this.state = new Cell<SubscriptionState>(
      known === UNASKED
        ? LOADING
        : { view: { value, error: undefined, loading: false }, live: SILENT },
    );
    this.#query = query;
    this.#list = query === AGENT_MESSAGES;
    this.#args = args;
    this.#environment = environment;
    this.#send = send;
  }

  /** What the server has said. */
  get known(): QueryState {
    return this.#known;
  }

  retain(): void {
    this.#watchers += 1;
    this.#stopLinger();
  }

  release(lingerMs: number, end: () => void): void {
    this.#watchers -= 1;
    if (this.#watchers === 0) this.#stopLinger = this.#environment.after(lingerMs, end);
  }

  end(): void {
    this.#stopRetry();
    this.#send({ type: "unsubscribe", id: this.id });
  }

  /** Subscribe on a socket that does not know this subscription. */
  ask(): void {
    const { cursor } = this.#known;
    this.#stopRetry();
    this.#refused = false;
    this.#refilling = false;
    this.asking = this.#send({
      type: "subscribe",
      id: this.id,
      query: this.#query,
      args: this.#args,
      ...(cursor !== undefined && { cursor }),
    });
  }

  retry(): void {
    if (this.#refused) this.ask();
  }

  restart(): void {
    this.#known = UNASKED;
    this.state.set(LOADING);
    this.#askAgain();
  }

  /** Put a page of older rows before those that are known. */
  prepend(page: readonly Message[]): void {
    this.#learn(prepend(this.#known, page), page);
  }

  receive(frame: SubscriptionFrame): void {
    switch (frame.type) {
      case "snapshot":
        this.asking = false;
        // What is being said comes again after it: of what was said before, the end may be missed.
        this.#learn(applySnapshot(this.#known, frame, this.#list), frame.value, []);
        break;
      case "delta":
        this.#receiveDelta(frame);
        break;
      case "token":
        this.#receiveToken(frame);
        break;
      case "error":
        this.#receiveError(frame);
        break;
      default:
        frame satisfies never;
    }
  }

  #receiveDelta(delta: Delta): void {
    const { cursor } = this.#known;
    if (cursor === undefined) return;
    switch (judge(cursor, delta)) {
      case "apply":
        this.asking = false;
        this.#learn(
          applyDelta(this.#known, delta),
          delta.ops.flatMap((op) => (op.op === "upsert" ? [op.row] : [])),
        );
        break;
      case "ignore":
        if (delta.from === cursor) this.#answered();
        break;
      case "resubscribe":
        if (!this.asking) this.#askAgain();
        break;
    }
  }

  /** The answer to a `subscribe` with our cursor: nothing has happened since. */
  #answered(): void {
    this.asking = false;
    this.state.set({ ...this.state.get(), view: this.#view(undefined) });
  }

  #receiveToken(token: Token): void {
    const { view, live } = this.state.get();
    const heard = applyToken(live, token);
    if (token.offset === 0) this.#refilling = false;
    if (heard.gap && !this.#refilling && !this.asking) {
      this.#askAgain();
      this.#refilling = true;
    }
    if (heard.live === live) return;
    this.state.put({ view, live: heard.live });
    this.#notice();
  }

  #receiveError(frame: ErrorFrame): void {
    const error = errorOf(frame);
    this.asking = false;
    const { live } = this.state.get();
    if (frame.live) {
      // The server goes on trying, and a snapshot comes: asking again would be one too many.
      this.state.set({ view: this.#view(error), live });
      return;
    }
    this.#refused = true;
    if (isTransient(error)) {
      const ms = RETRY_MS * (1 + this.#environment.random());
      this.#stopRetry = this.#environment.after(ms, () => this.retry());
    } else {
      this.#known = UNASKED;
    }
    this.state.set({ view: this.#view(error), live: isTransient(error) ? live : SILENT });
  }

  /** Something was missed: begin again from what we have. */
  #askAgain(): void {
    this.#send({ type: "unsubscribe", id: this.id });
    this.ask();
  }

  #learn(known: QueryState, changed: unknown, spoken?: LiveText["turns"]): void {
    this.#known = known;
    const { live } = this.state.get();
    const turns = spoken ?? live.turns;
    const rows = this.#list ? (changed as Message[]) : [];
    this.state.set({ view: this.#view(undefined), live: settleTurns({ ...live, turns }, rows) });
  }

  #view(error: RopewalkError | undefined): SubscriptionView {
    const { view } = this.state.get();
    const { cursor, value } = this.#known;
    const loading = cursor === undefined && error === undefined;
    return view.value === value && view.error === error && view.loading === loading
      ? view
      : { value, error, loading };
  }

  /**
   * Tell of tokens at once, and then at most once per frame of a screen, or more seldom where
   * drawing takes longer than that: a timer that is late says how busy the page is with it.
   */
  #notice(pauseMs = TOKEN_NOTICE_MS): void {
    if (this.#noticing) return;
    this.#noticing = true;
    const { now, after } = this.#environment;
    const told = this.state.get();
    const begun = now();
    this.state.notify();
    after(pauseMs, () => {
      this.#noticing = false;
      if (this.state.get() === told) return;
      const lateMs = now() - begun - pauseMs;
      this.#notice(Math.min(TOKEN_NOTICE_MS + lateMs * IDLE_SHARE, MAX_NOTICE_MS));
    });
  }
}

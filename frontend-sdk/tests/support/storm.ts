/**
 * A server and a line to it in virtual time, for one client: what is sent waits until it is
 * delivered, a cut loses what is on its way, and no real clock is asked. As promised, the answer
 * to a call is sent after a snapshot that shows its effect.
 */

import {
  type ClientFrame,
  createClient,
  type ErrorCode,
  type ServerFrame,
  type Socket,
} from "../../src/core/index.js";
import type { Order } from "./orders.js";

interface Answer {
  readonly id: string;
  readonly dedupe: string;
}

export class Storm {
  readonly rows: Order[] = [];
  /** Ids of orders that the server would not take. */
  readonly refused = new Set<string>();
  readonly client = createClient({
    url: "http://storm",
    environment: {
      open: () => this.#open(),
      now: () => this.#now,
      random: () => 0,
      after: (ms, then) => this.#after(ms, then),
      onWake: () => () => {},
    },
  });
  readonly #refuses: () => boolean;
  readonly #outcomes = new Map<string, ErrorCode | null>();
  #version = 0;
  #now = 0;
  #timers: { readonly at: number; readonly then: () => void }[] = [];
  #socket: Socket | undefined;
  #toServer: ClientFrame[] = [];
  #toClient: ServerFrame[] = [];
  #subscriptions = new Set<string>();
  #stale = new Set<string>();
  #answers: Answer[] = [];

  constructor(refuses: () => boolean) {
    this.#refuses = refuses;
  }

  /** Somebody else commits a row. */
  commit(row: Order): void {
    this.rows.push(row);
    this.#version += 1;
    this.#stale = new Set(this.#subscriptions);
  }

  /** The server reads one frame. */
  hear(): void {
    const frame = this.#toServer.shift();
    switch (frame?.type) {
      case "hello":
        this.#toClient.push({ type: "welcome", session: "s", identity: null, heartbeat: 1e6 });
        break;
      case "subscribe":
        this.#subscriptions.add(frame.id);
        this.#stale.add(frame.id);
        break;
      case "unsubscribe":
        this.#subscriptions.delete(frame.id);
        break;
      case "call":
        this.#call(frame.id, frame.dedupe ?? "", frame.args?.["row"] as Order);
        break;
    }
  }

  /** The server says what is new, and answers the first `count` calls. */
  say(count: number): void {
    const cursor = `t.${this.#version}`;
    for (const id of this.#stale) {
      this.#toClient.push({ type: "snapshot", id, cursor, value: [...this.rows] });
    }
    this.#stale.clear();
    for (const { id, dedupe } of this.#answers.splice(0, count)) {
      const code = this.#outcomes.get(dedupe);
      this.#toClient.push(
        code ? { type: "error", id, code, message: "no" } : { type: "result", id, value: null },
      );
    }
  }

  /** The client reads one frame. */
  deliver(): void {
    const frame = this.#toClient.shift();
    if (frame !== undefined) this.#socket?.onmessage?.({ data: JSON.stringify(frame) });
  }

  cut(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    [this.#toServer, this.#toClient, this.#answers] = [[], [], []];
    this.#subscriptions.clear();
    this.#stale.clear();
    socket?.onclose?.({ code: 1006, reason: "" });
  }

  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { then } of due.sort((a, b) => a.at - b.at)) then();
  }

  #call(id: string, dedupe: string, row: Order): void {
    if (!this.#outcomes.has(dedupe)) {
      this.#outcomes.set(dedupe, this.#refuses() ? "CONFLICT" : null);
      if (this.#outcomes.get(dedupe)) this.refused.add(row.id);
      else this.commit(row);
    }
    this.#answers.push({ id, dedupe });
  }

  #open(): Socket {
    const current = () => this.#socket === socket;
    const socket: Socket = {
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (data) => {
        if (current()) this.#toServer.push(JSON.parse(data) as ClientFrame);
      },
      close: () => {
        if (current()) this.cut();
      },
    };
    this.#socket = socket;
    setImmediate(() => socket.onopen?.());
    return socket;
  }

  #after(ms: number, then: () => void): () => void {
    const timer = { at: this.#now + ms, then };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }
}

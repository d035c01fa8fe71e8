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
} from "../../src/core/index.js";
import type { Order } from "./orders.js";
import { VirtualLine, VirtualTime } from "./virtual.js";

interface Answer {
  readonly id: string;
  readonly dedupe: string;
}

export class Storm {
  readonly rows: Order[] = [];
  /** Ids of orders that the server would not take. */
  readonly refused = new Set<string>();
  readonly #time = new VirtualTime();
  readonly #line = new VirtualLine((wire) => {
    this.#send = (frame) => wire.send(JSON.stringify(frame));
    return {
      receive: (text) => this.#receive(JSON.parse(text) as ClientFrame),
      gone: () => this.#forget(),
    };
  });
  readonly client = createClient({
    url: "http://storm",
    environment: {
      open: (url, protocol) => {
        setImmediate(() => this.#line.connect());
        return this.#line.open(url, protocol);
      },
      now: this.#time.now,
      random: () => 0,
      after: this.#time.after,
      onWake: () => () => {},
    },
  });
  readonly #refuses: () => boolean;
  readonly #outcomes = new Map<string, ErrorCode | null>();
  #version = 0;
  #send: (frame: ServerFrame) => void = () => {};
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
    this.#line.hear();
  }

  /** The server says what is new, and answers the first `count` calls. */
  say(count: number): void {
    const cursor = `t.${this.#version}`;
    for (const id of this.#stale) {
      this.#send({ type: "snapshot", id, cursor, value: [...this.rows] });
    }
    this.#stale.clear();
    for (const { id, dedupe } of this.#answers.splice(0, count)) {
      const code = this.#outcomes.get(dedupe);
      this.#send(
        code ? { type: "error", id, code, message: "no" } : { type: "result", id, value: null },
      );
    }
  }

  /** The client reads one frame. */
  deliver(): void {
    this.#line.deliver();
  }

  cut(): void {
    this.#line.cut();
  }

  pass(ms: number): void {
    this.#time.pass(ms);
  }

  #receive(frame: ClientFrame): void {
    switch (frame.type) {
      case "hello":
        this.#send({ type: "welcome", session: "s", identity: null, heartbeat: 1e6 });
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

  /** What a line was told of is gone with it. */
  #forget(): void {
    this.#answers = [];
    this.#subscriptions.clear();
    this.#stale.clear();
  }

  #call(id: string, dedupe: string, row: Order): void {
    if (!this.#outcomes.has(dedupe)) {
      this.#outcomes.set(dedupe, this.#refuses() ? "CONFLICT" : null);
      if (this.#outcomes.get(dedupe)) this.refused.add(row.id);
      else this.commit(row);
    }
    this.#answers.push({ id, dedupe });
  }
}

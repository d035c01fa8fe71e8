/**
 * Calls and their answers, over as many sockets as it takes.
 *
 * Laws: a call that has no answer is sent again on the next socket.  This is safe because
 * each carries a dedupe key, under which the server gives one effect and one answer; only
 * reads go without.  What is sent again is what was asked, whatever became of the object
 * since; what no server could take is never sent at all, or it would end every socket;
 * what is more than a server takes at once waits here, for it would be refused there, and so
 * does what has to come after another's answer; and of what waits there is an end.
 */

import { asError, errorOf, RopewalkError } from "./errors.js";
import { type Call, type ErrorFrame, MAX_CALLS, MAX_FRAME, type Result } from "./protocol.gen.js";
import { encodeClientFrame } from "./protocol.js";

/** Of so many calls nobody remembers what they were. */
export const MAX_WAITING = 1_000;

export interface Request {
  readonly id: string;
  readonly answer: Promise<unknown>;
}

/** A call as it will leave. */
export interface Prepared {
  readonly id: string;
  readonly text: string;
}

interface Waiting {
  readonly text: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: RopewalkError) => void;
  readonly settled: ((id: string) => void) | undefined;
  /** Whether it has left on any socket: then only the server knows whether it took effect. */
  left: boolean;
  /** Whether it is on its way on the present one. */
  sent: boolean;
  /** What has to be answered before it leaves, until it is. */
  first: Promise<unknown> | undefined;
}

export class Requests {
  readonly #waiting = new Map<string, Waiting>();
  readonly #send: (text: string) => boolean;
  #count = 0;

  constructor(send: (text: string) => boolean) {
    this.#send = send;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Return a call that can be sent. Throws if no server could take it. */
  prepare(fn: string, args: Readonly<Record<string, unknown>>, dedupe?: string): Prepared {
    if (this.#waiting.size >= MAX_WAITING) {
      throw new RopewalkError("RATE_LIMITED", `${MAX_WAITING} calls have no answer yet`);
    }
    this.#count += 1;
    const id = `c${this.#count}`;
    const frame: Call = { type: "call", id, fn, args, ...(dedupe !== undefined && { dedupe }) };
    return { id, text: sendable(frame) };
  }

  /**
   * Ask, when `first` is over if it is given; `settled` is told when there is an answer, before
   * anybody who waits for it.
   */
  call({ id, text }: Prepared, settled?: (id: string) => void, first?: Promise<unknown>): Request {
    const answer = new Promise<unknown>((resolve, reject) => {
      const own: Waiting = { text, resolve, reject, settled, first, left: false, sent: false };
      this.#waiting.set(id, own);
      const free = () => {
        own.first = undefined;
        this.#flush();
      };
      first?.then(free, free);
    });
    this.#flush();
    return { id, answer };
  }

  /** Send everything that has no answer, in the order in which it was asked. */
  resend(): void {
    for (const waiting of this.#waiting.values()) waiting.sent = false;
    this.#flush();
  }

  /** Take an answer; false if it belongs to no call of ours. */
  settle(frame: Result | ErrorFrame): boolean {
    const waiting = this.#take(frame.id);
    if (waiting === undefined) return false;
    this.#flush();
    if (frame.type === "result") waiting.resolve(frame.value);
    else waiting.reject(errorOf(frame));
    return true;
  }

  /** Take a call back that has never left; false if it may have. */
  withdraw(id: string): boolean {
    if (this.#waiting.get(id)?.left !== false) return false;
    this.#take(id)?.reject(new RopewalkError("CANCELLED", "taken back before it was sent"));
    return true;
  }

  failAll(error: RopewalkError): void {
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error);
  }

  #flush(): void {
    let room = MAX_CALLS;
    for (const waiting of this.#waiting.values()) {
      if (room === 0) return;
      if (waiting.first) continue;
      if (!waiting.sent) waiting.sent = this.#send(waiting.text);
      waiting.left ||= waiting.sent;
      room -= 1;
    }
  }

  #take(id: string | undefined): Waiting | undefined {
    if (id === undefined) return undefined;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.settled?.(id);
    return waiting;
  }
}

function sendable(frame: Call): string {
  let text: string;
  try {
    text = encodeClientFrame(frame);
  } catch (thrown) {
    throw new RopewalkError("INVALID_ARGUMENT", asError(thrown).message);
  }
  // A character has three bytes at most.
  if (text.length * 3 > MAX_FRAME && new TextEncoder().encode(text).length > MAX_FRAME) {
    throw new RopewalkError("PAYLOAD_TOO_LARGE", `a call has at most ${MAX_FRAME} bytes`);
  }
  return text;
}

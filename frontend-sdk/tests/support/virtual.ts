/** Time and lines that move only when a test moves them. */

import type { Environment, Socket } from "../../src/core/index.js";
import type { Accepted, Wire } from "./gateway.js";

export class VirtualTime {
  #now = 0;
  #timers: { readonly at: number; readonly then: () => void }[] = [];

  readonly now = (): number => this.#now;

  readonly after = (ms: number, then: () => void): (() => void) => {
    const timer = { at: this.#now + ms, then };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  };

  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    for (const timer of due) {
      if (!this.#timers.includes(timer)) continue;
      this.#timers = this.#timers.filter((one) => one !== timer);
      timer.then();
    }
  }
}

/** What is on its way between one client and a server. A cut loses it. */
export class VirtualLine {
  readonly up: string[] = [];
  readonly down: string[] = [];
  readonly #accept: (wire: Wire) => Accepted;
  #socket: Socket | undefined;
  #server: Accepted | undefined;

  constructor(accept: (wire: Wire) => Accepted) {
    this.#accept = accept;
  }

  /** As `Environment.open`; the line stands when `connect` was called. */
  readonly open: Environment["open"] = () => {
    const current = () => this.#socket === socket;
    const socket: Socket = {
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (text) => {
        if (current()) this.up.push(text);
      },
      close: () => {
        if (current()) this.#end();
      },
    };
    this.#socket = socket;
    return socket;
  };

  /** Let an attempt at a socket succeed. */
  connect(): void {
    const socket = this.#socket;
    if (socket === undefined || this.#server !== undefined) return;
    const current = () => this.#socket === socket;
    const hangUp = () => {
      if (current()) this.cut();
    };
    const send = (text: string) => {
      if (current()) this.down.push(text);
    };
    this.#server = this.#accept({ send: send as Wire["send"], close: hangUp, terminate: hangUp });
    socket.onopen?.();
  }

  /** The server reads one frame. */
  hear(): void {
    const text = this.up.shift();
    if (text !== undefined) this.#server?.receive(text);
  }

  /** The client reads one frame: that at `index`. */
  deliver(index = 0): void {
    const [text] = this.down.splice(index, 1);
    if (text !== undefined) this.#read(text);
  }

  /** The client reads a frame that it will read again. */
  double(index: number): void {
    const text = this.down[index];
    if (text !== undefined) this.#read(text);
  }

  /** The line breaks when so many characters of what is on its way have arrived. */
  cut(downTo = 0, upTo = 0): void {
    let [up, down] = [upTo, downTo];
    for (let [text] = this.up; text !== undefined && text.length <= up; [text] = this.up) {
      up -= text.length;
      this.hear();
    }
    for (let [text] = this.down; text !== undefined && text.length <= down; [text] = this.down) {
      down -= text.length;
      this.deliver();
    }
    // No transport hands on half a frame; if one did, it would be no frame.
    const half = this.down[0]?.slice(0, down);
    if (half) this.#read(half);
    const socket = this.#socket;
    this.#end();
    socket?.onclose?.({ code: 1006, reason: "" });
  }

  #read(text: string): void {
    this.#socket?.onmessage?.({ data: text });
  }

  #end(): void {
    this.#socket = undefined;
    this.#server?.gone();
    this.#server = undefined;
    this.up.length = 0;
    this.down.length = 0;
  }
}

/**
 * The end of the line in the tab that holds the socket: the sockets of all tabs, over one.
 *
 * Laws: who a token belongs to is the server's word alone.  A tab that comes with a token which
 * was not seen yet says its `hello` on a socket of its own; only if the `welcome` names the person
 * of another socket is it seated there, and its own is closed.  So two people never share, and
 * what a tab cannot tell apart (a new token of the same person, say) costs a moment.  When a
 * socket's token runs out everybody on it is sent away, and comes back with a new one.
 *
 * Each tab's ids are its own, so they are renamed on the way wherever they might meet another's.
 */

import type { Environment, Socket } from "./environment.js";
import {
  CLOSE_UNAUTHENTICATED,
  type ClientFrame,
  MAX_CALLS,
  type ServerFrame,
} from "./protocol.gen.js";
import { encodeClientFrame, parseServerFrame } from "./protocol.js";

/** Less than a client waits for its `pong`. */
const SILENCE_MS = 4_000;

/** A tab, as the hub sees it. */
export interface Guest {
  receive(text: string): void;
  closed(code: number, reason: string): void;
}

/** What a tab can do. */
export interface Seat {
  send(text: string): void;
  close(): void;
}

export class Hub {
  readonly #open: () => Socket;
  readonly #after: Environment["after"];
  readonly #lines = new Set<Line>();
  readonly #guests = new Set<Guest>();

  constructor(open: () => Socket, after: Environment["after"]) {
    this.#open = open;
    this.#after = after;
  }

  seat(guest: Guest): Seat {
    this.#guests.add(guest);
    let line: Line | undefined;
    const leave = () => {
      this.#guests.delete(guest);
      line?.leave(guest);
    };
    return {
      send: (text) => {
        const frame = JSON.parse(text) as ClientFrame;
        if (frame.type === "hello") {
          line = this.#lineFor(frame.token, text);
          line.join(guest, (other) => {
            line = other;
          });
        } else if (frame.type === "auth") {
          // Whose it is shows on the way in.
          leave();
          guest.closed(CLOSE_UNAUTHENTICATED, "another token");
        } else {
          line?.take(guest, frame);
        }
      },
      close: leave,
    };
  }

  /** Send everybody away: another tab holds the socket from now on. */
  close(code: number, reason: string): void {
    for (const line of [...this.#lines]) line.end(code, reason);
    // Who has not said hello sits nowhere yet.
    for (const guest of [...this.#guests]) guest.closed(code, reason);
    this.#guests.clear();
  }

  #lineFor(token: string | undefined, hello: string): Line {
    for (const line of this.#lines) if (line.tokens.has(token)) return line;
    const line = new Line(this.#open(), this.#after, hello, token, {
      // The first that this person had; another one is only needed to know him.
      welcomed: () => [...this.#lines].find((one) => one !== line && one.person === line.person),
      ended: () => this.#lines.delete(line),
      sentAway: (guest) => this.#guests.delete(guest),
    });
    this.#lines.add(line);
    return line;
  }
}

interface LineEvents {
  /** Return the line to go over to, if there is one. */
  readonly welcomed: () => Line | undefined;
  readonly ended: () => void;
  readonly sentAway: (guest: Guest) => void;
}

/** One real socket, and who sits on it. */
class Line {
  /** Those that were shown to be of this person. */
  readonly tokens: Set<string | undefined>;
  /** Who the server says it is; undefined before its `welcome`. */
  person: string | undefined;
  readonly #socket: Socket;
  readonly #after: Environment["after"];
  readonly #events: LineEvents;
  /** Who sits here, and how to seat them elsewhere. */
  readonly #guests = new Map<Guest, (line: Line) => void>();
  readonly #routes = new Map<string, { readonly guest: Guest; readonly id: string }>();
  readonly #calls = new Set<string>();
  /** Calls above what a server takes at once. */
  #queue: { readonly wire: string; readonly text: string }[] = [];
  readonly #asking = new Set<Guest>();
  #welcome = "";
  #count = 0;
  #stopTimer: () => void = () => {};

  constructor(
    socket: Socket,
    after: Environment["after"],
    hello: string,
    token: string | undefined,
    events: LineEvents,
  ) {
    this.#socket = socket;
    this.#after = after;
    this.#events = events;
    this.tokens = new Set([token]);
    socket.onopen = () => socket.send(hello);
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => this.end(code, reason);
    socket.onerror = () => {};
  }

  join(guest: Guest, move: (line: Line) => void): void {
    this.#guests.set(guest, move);
    move(this);
    if (this.person !== undefined) guest.receive(this.#welcome);
  }

  leave(guest: Guest): void {
    // It has given up waiting for a sign of life.
    if (this.#asking.has(guest)) {
      this.end(1006, "the server fell silent");
      return;
    }
    this.#guests.delete(guest);
    for (const [wire, route] of this.#routes) {
      if (route.guest !== guest) continue;
      this.#routes.delete(wire);
      if (!this.#calls.has(wire)) this.#send({ type: "unsubscribe", id: wire });
    }
    if (this.#guests.size === 0) this.end(1000, "");
  }

  take(guest: Guest, frame: ClientFrame): void {
    switch (frame.type) {
      case "ping":
        this.#asking.add(guest);
        this.#ping();
        break;
      case "subscribe":
        this.#send({ ...frame, id: this.#name(guest, frame.id) });
        break;
      case "unsubscribe": {
        const wire = this.#wireOf(guest, frame.id);
        if (wire === undefined) break;
        this.#routes.delete(wire);
        this.#send({ type: "unsubscribe", id: wire });
        break;
      }
      case "call": {
        const wire = this.#name(guest, frame.id);
        this.#queue.push({ wire, text: encodeClientFrame({ ...frame, id: wire }) });
        this.#flush();
        break;
      }
    }
  }

  end(code: number, reason: string): void {
    const guests = [...this.#guests.keys()];
    this.#stopTimer();
    this.#events.ended();
    this.#guests.clear();
    this.#asking.clear();
    this.#socket.onclose = null;
    this.#socket.onmessage = null;
    this.#socket.close();
    for (const guest of guests) {
      this.#events.sentAway(guest);
      guest.closed(code, reason);
    }
  }

  #receive(data: unknown): void {
    const frame = parseServerFrame(data);
    if (frame === undefined) return;
    const text = data as string;
    this.#stopTimer();
    switch (frame.type) {
      case "welcome":
        this.#welcomed(text, JSON.stringify(frame.identity));
        break;
      case "goodbye":
        // Nobody is seated here any more; who sits here leaves in his own time.
        this.#events.ended();
        for (const guest of this.#guests.keys()) guest.receive(text);
        break;
      case "pong": {
        const asking = [...this.#asking];
        this.#asking.clear();
        for (const guest of asking) guest.receive(text);
        break;
      }
      case "error":
        if (frame.id === undefined) this.#complained(text, frame.code === "UNAUTHENTICATED");
        else this.#hand(frame, text);
        break;
      default:
        this.#hand(frame, text);
    }
  }

  #welcomed(text: string, person: string): void {
    this.#welcome = text;
    this.person = person;
    const other = this.#events.welcomed();
    const guests = [...this.#guests];
    if (other === undefined) {
      for (const [guest] of guests) guest.receive(text);
      return;
    }
    for (const token of this.tokens) other.tokens.add(token);
    this.#guests.clear();
    this.end(1000, "");
    for (const [guest, move] of guests) other.join(guest, move);
    other.#ping();
  }

  /** An error about the socket: its token was never good, or is so no more. */
  #complained(text: string, expired: boolean): void {
    if (this.person === undefined) for (const guest of this.#guests.keys()) guest.receive(text);
    else if (expired) this.end(CLOSE_UNAUTHENTICATED, "the token ran out");
  }

  /** Give a frame to whom it belongs, under the name that he knows. */
  #hand(frame: ServerFrame & { readonly id?: string }, text: string): void {
    const wire = frame.id ?? "";
    const route = this.#routes.get(wire);
    if (this.#calls.delete(wire)) {
      this.#routes.delete(wire);
      this.#flush();
    } else if (frame.type === "error" && !frame.live) {
      this.#routes.delete(wire);
    }
    if (route === undefined) return;
    const { guest, id } = route;
    guest.receive(id === wire ? text : JSON.stringify({ ...frame, id }));
  }

  #flush(): void {
    while (this.#calls.size < MAX_CALLS) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (!this.#routes.has(next.wire)) continue;
      this.#calls.add(next.wire);
      this.#socket.send(next.text);
    }
  }

  /** Name a subscription or call. What names its query and arguments may be used again by all. */
  #name(guest: Guest, id: string): string {
    this.#count += 1;
    const wire = id.includes("{") && !this.#routes.has(id) ? id : `#${this.#count}`;
    this.#routes.set(wire, { guest, id });
    return wire;
  }

  #wireOf(guest: Guest, id: string): string | undefined {
    for (const [wire, route] of this.#routes) {
      if (route.guest === guest && route.id === id) return wire;
    }
    return undefined;
  }

  #ping(): void {
    this.#send({ type: "ping" });
    this.#stopTimer();
    this.#stopTimer = this.#after(SILENCE_MS, () => this.end(1006, "the server fell silent"));
  }

  #send(frame: ClientFrame): void {
    this.#socket.send(encodeClientFrame(frame));
  }
}

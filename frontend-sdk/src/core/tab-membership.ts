/**
 * Which tab holds the socket, and how the others speak through it.
 *
 * There is one leader, for there is one lock.  A tab knocks; the leader opens the tab's own channel
 * and hands the frames on.  It learns that a tab is gone, however it went, by the lock that each
 * tab holds on its own name.
 *
 *              the lock is granted                    it was stolen
 *     waiting ---------------------> leading --------------------------> waiting
 *       |  ^
 *       |  | the leader was followed by another
 *       |  +---------------- following
 *       |                        ^
 *       | knock                  | answered
 *       +------------------------+
 *       | no answer: the leader's page is frozen
 *       +------------------------> steal the lock
 *
 * Laws: a frame is heard only if it comes from the leader that opened the socket.  A leader that
 * was deposed in its sleep learns of it when it wakes, gives its socket up, and follows.  A tab
 * that needs no socket, and holds it for nobody, is no member; nor is one that is refused locks:
 * it has a socket of its own.
 */

import type { Environment, Socket } from "./environment.js";
import { type Guest, Hub, type Seat } from "./tab-hub.js";

/** The part of `LockManager` that is used. */
export interface Locks {
  request(name: string, held: () => unknown): Promise<unknown>;
  request(
    name: string,
    how: { readonly signal?: AbortSignal; readonly steal?: boolean },
    held: () => unknown,
  ): Promise<unknown>;
}

/** The part of `BroadcastChannel` that is used. */
export interface Channel {
  onmessage: ((event: never) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

/** What is needed of a browser. */
export interface TabPlatform {
  readonly locks: Locks;
  readonly BroadcastChannel: new (name: string) => Channel;
}

/** After so long without an answer a leader is taken for frozen; up to twice that, for one must be first. */
const ANSWER_MS = 3_000;
/** Whoever has lost his socket opens another soon. */
const LINGER_MS = 2_000;
/** "Service Restart": come back. */
const CLOSE_MOVED = 1012;
const MOVED = "another tab holds the socket now";
/** Grows when tabs say something else to each other: pages of two releases may be open at once. */
const DIALECT = 1;

/** To all. */
type Call =
  | { readonly type: "leading"; readonly leader: string }
  | { readonly type: "knock"; readonly tab: string; readonly socket: number };

/** From a tab to its leader; without a text, the socket was closed. */
interface Said {
  readonly socket: number;
  readonly text?: string;
}

/** From a leader to a tab. */
type Told = { readonly leader: string; readonly socket: number } & (
  | { readonly type: "opened" }
  | { readonly type: "frame"; readonly text: string }
  | { readonly type: "closed"; readonly code: number; readonly reason: string }
);

export class Membership {
  /** Nobody needs this tab any more; there is no way back. */
  over = false;
  readonly #name: string;
  readonly #openReal: () => Socket;
  readonly #environment: Environment;
  readonly #platform: TabPlatform;
  readonly #me: string;
  readonly #all: Channel;
  readonly #own: Channel;
  /** Whether the lock on our own name is held: before that the leader would take us for gone. */
  readonly #named: Promise<void>;
  readonly #sockets = new Map<number, TabSocket>();
  readonly #others = new Map<string, OtherTab>();
  #hub: Hub | undefined;
  #count = 0;
  #queueing = new AbortController();
  /** Gives back the locks that are held. */
  readonly #ending: Promise<void>;
  #end: () => void = () => {};
  #stopWaiting: () => void = () => {};
  #stopLeaving: () => void = () => {};

  /** `name` is of what is shared: tabs of another name know nothing of this one. */
  constructor(
    name: string,
    openReal: () => Socket,
    environment: Environment,
    platform: TabPlatform,
  ) {
    this.#name = `ropewalk ${DIALECT} ${name}`;
    this.#openReal = openReal;
    this.#environment = environment;
    this.#platform = platform;
    this.#me = environment.id();
    this.#ending = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#all = this.#channel<Call>(this.#name, (call) => this.#called(call));
    this.#own = this.#channel<Told>(this.#nameOf(this.#me), (told) => this.#told(told));
    this.#named = new Promise((resolve) => {
      const held = () => {
        resolve();
        return this.#ending;
      };
      platform.locks.request(this.#nameOf(this.#me), held).catch(() => {
        this.#alone();
        resolve();
      });
    });
    this.#queue();
  }

  open(): Socket {
    this.#count += 1;
    const number = this.#count;
    const socket = new TabSocket(() => {
      this.#sockets.delete(number);
      this.#leave();
    });
    this.#sockets.set(number, socket);
    void this.#named.then(() => this.#connect(number, socket));
    return socket;
  }

  #connect(number: number, socket: TabSocket): void {
    if (this.over || socket.over || socket.leader !== undefined) return;
    if (this.#hub !== undefined) {
      socket.opened(this.#me, this.#hub.seat(socket));
      return;
    }
    this.#all.postMessage({ type: "knock", tab: this.#me, socket: number } satisfies Call);
    this.#stopWaiting();
    const ms = ANSWER_MS * (1 + this.#environment.random());
    this.#stopWaiting = this.#environment.after(ms, () => {
      this.#queueing.abort();
      this.#queue({ steal: true });
    });
  }

  /** Wait for the lock, or take it. */
  #queue(how?: { readonly steal: true }): void {
    this.#queueing = new AbortController();
    const { signal } = this.#queueing;
    let lost = false;
    const lead = () => {
      // It may have been stolen before this is called.
      if (this.over || lost) return undefined;
      this.#lead();
      return this.#ending;
    };
    this.#platform.locks.request(this.#name, how ?? { signal }, lead).catch((thrown: Error) => {
      lost = true;
      if (signal.aborted) return;
      if (thrown.name === "AbortError") this.#deposed();
      else this.#alone();
    });
  }

  /** There are no locks for this page, as in a sandboxed frame: it speaks for itself alone. */
  #alone(): void {
    this.#hub ??= new Hub(this.#openReal, this.#environment.after);
    this.#stopWaiting();
    this.#all.close();
    this.#own.close();
    this.#follow(this.#me);
  }

  #lead(): void {
    this.#stopWaiting();
    this.#hub = new Hub(this.#openReal, this.#environment.after);
    this.#all.postMessage({ type: "leading", leader: this.#me } satisfies Call);
    this.#follow(this.#me);
  }

  #deposed(): void {
    this.#hub?.close(CLOSE_MOVED, MOVED);
    this.#hub = undefined;
    for (const other of this.#others.values()) other.forget();
    this.#others.clear();
    this.#queue();
  }

  /** Hang up on any other leader, and come to this one with what is not connected. */
  #follow(leader: string): void {
    for (const [number, socket] of [...this.#sockets]) {
      if (socket.leader === undefined) this.#connect(number, socket);
      else if (socket.leader !== leader) socket.closed(CLOSE_MOVED, MOVED);
    }
  }

  #called(call: Call): void {
    if (call.type === "knock") this.#answer(call.tab, call.socket);
    // Whoever leads has the lock: if that is ours still, we shall hear of it.
    else if (this.#hub === undefined) this.#follow(call.leader);
  }

  #told(told: Told): void {
    const { leader, socket: number } = told;
    const socket = this.#sockets.get(number);
    if (socket === undefined) return;
    if (told.type === "opened" && socket.leader === undefined) {
      this.#stopWaiting();
      socket.opened(leader, {
        send: (text) => this.#own.postMessage({ socket: number, text } satisfies Said),
        close: () => this.#own.postMessage({ socket: number } satisfies Said),
      });
    }
    if (socket.leader !== leader) return;
    if (told.type === "frame") socket.receive(told.text);
    else if (told.type === "closed") socket.closed(told.code, told.reason);
  }

  /** Let another tab in. */
  #answer(tab: string, socket: number): void {
    const hub = this.#hub;
    if (hub === undefined) return;
    let other = this.#others.get(tab);
    if (other === undefined) {
      const made = new OtherTab(hub, this.#me, (hear) => this.#channel(this.#nameOf(tab), hear));
      const gone = () => {
        made.gone();
        if (this.#others.get(tab) === made) this.#others.delete(tab);
        this.#leave();
      };
      this.#others.set(tab, made);
      this.#platform.locks
        .request(this.#nameOf(tab), { signal: made.forgotten }, gone)
        .catch(() => {});
      other = made;
    }
    other.seat(socket);
  }

  get #needed(): boolean {
    return this.#sockets.size > 0 || this.#others.size > 0;
  }

  /** Be no member any more, if nobody needs it for a while. */
  #leave(): void {
    this.#stopLeaving();
    if (this.#needed) return;
    this.#stopLeaving = this.#environment.after(LINGER_MS, () => {
      if (this.over || this.#needed) return;
      this.over = true;
      this.#stopWaiting();
      this.#queueing.abort();
      this.#end();
      this.#all.close();
      this.#own.close();
    });
  }

  #nameOf(tab: string): string {
    return `${this.#name} ${tab}`;
  }

  #channel<Message>(name: string, hear: (message: Message) => void): Channel {
    const channel = new this.#platform.BroadcastChannel(name);
    channel.onmessage = ({ data }: { data: Message }) => hear(data);
    return channel;
  }
}

/** The leader's end of another tab. */
class OtherTab {
  readonly #hub: Hub;
  readonly #leader: string;
  readonly #channel: Channel;
  readonly #seats = new Map<number, Seat>();
  readonly #forgetting = new AbortController();

  constructor(hub: Hub, leader: string, channel: (hear: (said: Said) => void) => Channel) {
    this.#hub = hub;
    this.#leader = leader;
    this.#channel = channel(({ socket, text }) => {
      if (text !== undefined) this.#seats.get(socket)?.send(text);
      else this.#drop(socket);
    });
  }

  get forgotten(): AbortSignal {
    return this.#forgetting.signal;
  }

  seat(socket: number): void {
    const known = { leader: this.#leader, socket };
    const tell = (told: Told) => this.#channel.postMessage(told);
    const guest: Guest = {
      receive: (text) => tell({ ...known, type: "frame", text }),
      closed: (code, reason) => {
        this.#seats.delete(socket);
        tell({ ...known, type: "closed", code, reason });
      },
    };
    if (!this.#seats.has(socket)) this.#seats.set(socket, this.#hub.seat(guest));
    tell({ ...known, type: "opened" });
  }

  gone(): void {
    for (const socket of [...this.#seats.keys()]) this.#drop(socket);
    this.#channel.close();
  }

  /** Another tab leads: what becomes of this one is its business. */
  forget(): void {
    this.#forgetting.abort();
    this.#channel.close();
  }

  #drop(socket: number): void {
    this.#seats.get(socket)?.close();
    this.#seats.delete(socket);
  }
}

/** What the core takes for a socket. */
class TabSocket implements Socket, Guest {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  over = false;
  /** Through whom it speaks; undefined until it is open. */
  leader: string | undefined;
  #seat: Seat | undefined;
  readonly #left: () => void;

  constructor(left: () => void) {
    this.#left = left;
  }

  send(text: string): void {
    this.#seat?.send(text);
  }

  close(): void {
    if (this.over) return;
    this.over = true;
    this.#seat?.close();
    this.#left();
  }

  opened(leader: string, seat: Seat): void {
    this.leader = leader;
    this.#seat = seat;
    this.onopen?.();
  }

  receive(text: string): void {
    if (!this.over) this.onmessage?.({ data: text });
  }

  closed(code: number, reason: string): void {
    if (this.over) return;
    this.over = true;
    this.#left();
    this.onclose?.({ code, reason });
  }
}

/**
 * The tabs of one browser: their locks by the contract of the Web Locks API, their channels the
 * platform's own. A tab can be closed without a word, and be frozen and woken, as browsers do.
 */

import { WebSocket } from "ws";
import type { Environment, Socket } from "../../src/core/index.js";
import type { TabPlatform } from "../../src/core/tab-membership.js";

interface Wish {
  readonly tab: FakeTab;
  readonly callback: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Lock {
  holder: Wish | undefined;
  queue: Wish[];
}

const aborted = () => new DOMException("The request was aborted.", "AbortError");

export class FakeBrowser {
  readonly #locks = new Map<string, Lock>();

  tab(speed = 1): FakeTab {
    return new FakeTab(this, speed);
  }

  request(name: string, wish: Wish, options: LockOptions): void {
    const lock = this.#locks.get(name) ?? { holder: undefined, queue: [] };
    this.#locks.set(name, lock);
    if (options.steal) {
      const robbed = lock.holder;
      lock.holder = undefined;
      robbed?.tab.run(() => robbed.reject(aborted()));
      lock.queue.unshift(wish);
    } else {
      lock.queue.push(wish);
    }
    options.signal?.addEventListener("abort", () => {
      if (!lock.queue.includes(wish)) return;
      lock.queue = lock.queue.filter((one) => one !== wish);
      wish.reject(aborted());
    });
    this.#grant(lock);
  }

  /** What a tab held and waited for is let go. */
  forget(tab: FakeTab): void {
    for (const lock of this.#locks.values()) {
      lock.queue = lock.queue.filter((wish) => wish.tab !== tab);
      if (lock.holder?.tab !== tab) continue;
      lock.holder = undefined;
      this.#grant(lock);
    }
  }

  #grant(lock: Lock): void {
    if (lock.holder !== undefined) return;
    const next = lock.queue.shift();
    lock.holder = next;
    // Granted in a later step, as a browser does.
    setImmediate(() => {
      next?.tab.run(async () => {
        const value = await next.callback();
        if (lock.holder !== next) return;
        lock.holder = undefined;
        next.resolve(value);
        this.#grant(lock);
      });
    });
  }
}

export class FakeTab implements TabPlatform {
  readonly #browser: FakeBrowser;
  readonly #speed: number;
  readonly #channels = new Set<BroadcastChannel>();
  readonly #sockets = new Set<WebSocket>();
  #state: "awake" | "frozen" | "closed" = "awake";
  #held: (() => unknown)[] = [];

  constructor(browser: FakeBrowser, speed: number) {
    this.#browser = browser;
    this.#speed = speed;
  }

  readonly locks = {
    request: (name: string, ...rest: unknown[]) => {
      const callback = rest.at(-1) as () => unknown;
      const options = (rest.length > 1 ? rest[0] : {}) as LockOptions;
      return new Promise<unknown>((resolve, reject) => {
        this.#browser.request(name, { tab: this, callback, resolve, reject }, options);
      });
    },
  } as TabPlatform["locks"];

  get BroadcastChannel(): TabPlatform["BroadcastChannel"] {
    const tab = this;
    return class {
      readonly #channel: BroadcastChannel;
      onmessage: BroadcastChannel["onmessage"] = null;

      constructor(name: string) {
        this.#channel = new BroadcastChannel(name);
        tab.#channels.add(this.#channel);
        this.#channel.onmessage = (event) => {
          tab.run(() => this.onmessage?.call(this.#channel, event));
        };
      }

      postMessage(message: unknown): void {
        if (tab.#state !== "closed") this.#channel.postMessage(message);
      }

      close(): void {
        tab.#channels.delete(this.#channel);
        this.#channel.close();
      }
    };
  }

  readonly environment: Partial<Environment> = {
    random: () => 0,
    now: () => performance.now() * this.#speed,
    after: (ms, then) => {
      const timer = setTimeout(() => this.run(then), ms / this.#speed);
      return () => clearTimeout(timer);
    },
    open: (url, protocol) => this.#open(url, protocol),
  };

  /** Do what has come up, now or when the tab is awake again. */
  run(step: () => unknown): void {
    if (this.#state === "awake") void step();
    else if (this.#state === "frozen") this.#held.push(step);
  }

  freeze(): void {
    this.#state = "frozen";
  }

  wake(): void {
    this.#state = "awake";
    for (const step of this.#held.splice(0)) this.run(step);
  }

  /** Close the page: nothing of it runs any more. */
  close(): void {
    this.#state = "closed";
    for (const channel of this.#channels) channel.close();
    for (const socket of this.#sockets) socket.terminate();
    this.#browser.forget(this);
  }

  #open(url: string, protocol: string): Socket {
    const real = new WebSocket(url, protocol);
    this.#sockets.add(real);
    const socket: Socket = {
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (text) => real.send(text),
      close: () => real.close(),
    };
    real.onopen = () => this.run(() => socket.onopen?.());
    real.onmessage = ({ data }) => this.run(() => socket.onmessage?.({ data }));
    real.onclose = ({ code, reason }) => this.run(() => socket.onclose?.({ code, reason }));
    real.onerror = () => {};
    return socket;
  }
}

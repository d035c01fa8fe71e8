/**
 * What this client watches: one server subscription per query and arguments, however many
 * watchers there are.
 *
 * Laws: the last watcher's leaving ends a subscription, a moment later, so that a view
 * which is taken down and put up again (as frameworks do) keeps it.  What a page was rendered
 * with is shown until somebody watches it, and then asked for from its cursor.
 */

import { canonicalId } from "./canonical.js";
import type { Environment } from "./environment.js";
import type { ClientFrame } from "./protocol.gen.js";
import type { ClientSnapshot } from "./snapshot.js";
import { touch } from "./store.js";
import { Subscription, type SubscriptionFrame } from "./subscription.js";
import type { QueryState } from "./thread-state.js";

const LINGER_MS = 500;
const MAX_WIRE_ID = 2048;

export class Subscriptions {
  readonly #environment: Environment;
  readonly #send: (frame: ClientFrame) => boolean;
  readonly #changed: () => void;
  readonly #byKey = new Map<string, Subscription>();
  readonly #byId = new Map<string, Subscription>();
  /** What the page was rendered with, and nobody has watched yet. */
  readonly #rendered = new Map<string, Subscription>();
  #count = 0;

  constructor(
    environment: Environment,
    send: (frame: ClientFrame) => boolean,
    changed: () => void,
    snapshot?: ClientSnapshot,
  ) {
    this.#environment = environment;
    this.#send = send;
    this.#changed = changed;
    for (const [key, known] of Object.entries(snapshot?.queries ?? {})) {
      const at = key.indexOf("{");
      const made = this.#make(key, key.slice(0, at), JSON.parse(key.slice(at)), known);
      this.#rendered.set(key, made);
    }
  }

  /** What is watched, by its key. */
  get all(): ReadonlyMap<string, Subscription> {
    return this.#byKey;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Whether a query that was asked has no answer yet. */
  get asking(): boolean {
    return [...this.#byKey.values()].some(({ asking }) => asking);
  }

  /** Return what is known, without asking for more. */
  peek(key: string): Subscription | undefined {
    return this.#byKey.get(key) ?? this.#rendered.get(key);
  }

  /** Watch a query; returns the function that stops it. */
  watch(query: string, args: Readonly<Record<string, unknown>>, listener: () => void): () => void {
    const key = canonicalId(query, args);
    let subscription = this.#byKey.get(key);
    if (subscription === undefined) {
      subscription = this.#rendered.get(key) ?? this.#make(key, query, args);
      this.#rendered.delete(key);
      this.#byKey.set(key, subscription);
      this.#byId.set(subscription.id, subscription);
      this.#changed();
      subscription.ask();
    }
    const watched = subscription;
    watched.retain();
    const stop = watched.state.subscribe(listener);
    let stopped = false;
    return () => {
      if (stopped) return;
      stopped = true;
      stop();
      watched.release(LINGER_MS, () => this.#forget(key, watched));
    };
  }

  /** Take a frame; it may belong to no subscription of ours any more. */
  receive(frame: SubscriptionFrame): void {
    this.#byId.get(frame.id ?? "")?.receive(frame);
  }

  /** Ask for everything on a new socket. */
  resume(): void {
    for (const subscription of this.#byKey.values()) subscription.ask();
  }

  /** Ask again for what the server would not give to the one we were. */
  retryRefused(): void {
    for (const subscription of this.#byKey.values()) subscription.retry();
  }

  /** Somebody else is here now: forget everything, and ask as them. */
  restart(): void {
    this.#rendered.clear();
    touch();
    for (const subscription of this.#byKey.values()) subscription.restart();
  }

  #make(
    key: string,
    query: string,
    args: Readonly<Record<string, unknown>>,
    known?: QueryState,
  ): Subscription {
    this.#count += 1;
    const id = key.length <= MAX_WIRE_ID ? key : `${query}#${this.#count}`;
    return new Subscription(id, query, args, this.#environment, this.#send, known);
  }

  #forget(key: string, subscription: Subscription): void {
    subscription.end();
    this.#byKey.delete(key);
    this.#byId.delete(subscription.id);
    touch();
    this.#changed();
  }
}

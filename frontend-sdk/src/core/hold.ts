/**
 * Frames wait here while an optimistic layer is up, so that a layer comes down in the very
 * step that shows what it stood for.
 *
 * The server sends the answer to a call after the snapshots that show its effects.  Between
 * the first of them and the answer a reader would see the effect with the layer still over
 * it: a new row twice.  So frames are held, in their order, until every call with a layer has
 * its answer, but no longer than nobody notices.
 */

import type { Environment } from "./environment.js";
import type { ServerFrame } from "./protocol.gen.js";
import { batch } from "./store.js";

/** Data of others comes this much later while a call of ours is on its way. */
const HOLD_MS = 50;

export class Hold {
  readonly #environment: Environment;
  readonly #deliver: (frame: ServerFrame) => void;
  /** Calls with a layer whose answer has not been heard. */
  readonly #open = new Set<string>();
  #frames: ServerFrame[] = [];
  #stopTimer: () => void = () => {};

  constructor(environment: Environment, deliver: (frame: ServerFrame) => void) {
    this.#environment = environment;
    this.#deliver = deliver;
  }

  /** Wait for the answer to a call. */
  expect(call: string): void {
    this.#open.add(call);
  }

  /** Wait for it no more: nothing will come. */
  forget(call: string): void {
    this.#open.delete(call);
  }

  take(frame: ServerFrame): void {
    this.#frames.push(frame);
    if ("id" in frame && frame.id) this.#open.delete(frame.id);
    if (this.#open.size === 0) this.release();
    else if (this.#frames.length === 1) {
      this.#stopTimer = this.#environment.after(HOLD_MS, () => this.release());
    }
  }

  release(): void {
    const frames = this.#frames;
    this.#stopTimer();
    this.#frames = [];
    batch(() => frames.forEach(this.#deliver));
  }
}

/**
 * Frames wait here while an optimistic layer is up, so that a layer comes down in the very
 * step that shows what it stood for.
 *
 * The server sends the answer to a call after the snapshots that show its effects.  Between
 * the first of them and the answer a reader would see the effect with the layer still over
 * it: a new row twice.  So frames are held, in their order, until every call with a layer has
 * its answer, but no longer than nobody notices.  A query that is asked just now, as all are on
 * a new socket, is waited for as well: a call that had taken effect on the old one is answered
 * at once.  With a socket goes what was held of it, as
 * goes what was on its way: all is asked for again.
 */

import type { DataFrame } from "./connection.js";
import type { Environment } from "./environment.js";
import { batch } from "./store.js";

/** Data of others comes this much later while a call of ours is on its way. */
const HOLD_MS = 50;

export class Hold {
  /** Calls with a layer that have no answer yet. */
  readonly calls = new Set<string>();
  readonly #environment: Environment;
  readonly #deliver: (frame: DataFrame) => void;
  readonly #asking: () => boolean;
  #frames: DataFrame[] = [];
  /** How many of `calls` have their answer among the frames. */
  #answered = 0;
  #stopTimer: () => void = () => {};

  constructor(
    environment: Environment,
    deliver: (frame: DataFrame) => void,
    asking: () => boolean,
  ) {
    this.#environment = environment;
    this.#deliver = deliver;
    this.#asking = asking;
  }

  take(frame: DataFrame): void {
    this.#frames.push(frame);
    if (frame.id && this.calls.has(frame.id)) this.#answered += 1;
    const { size } = this.calls;
    if (size === 0 || (this.#answered === size && !this.#asking())) this.release();
    else if (this.#frames.length === 1) {
      this.#stopTimer = this.#environment.after(HOLD_MS, () => this.release());
    }
  }

  release(): void {
    const frames = this.#frames;
    this.drop();
    batch(() => frames.forEach(this.#deliver));
  }

  drop(): void {
    this.#stopTimer();
    this.#frames = [];
    this.#answered = 0;
  }
}

/**
 * The sends of this client, by thread: every view of a thread shows the same bubbles.
 */

import type { Redo } from "./branch.js";
import type { Choice } from "./branches.js";
import type { RopewalkError } from "./errors.js";
import type { Send } from "./optimistic.js";
import { Cell, derive, type Readable } from "./store.js";

export interface ThreadSends {
  readonly sends: readonly Send[];
  /** Why the last send failed, until the next one. */
  readonly failure: RopewalkError | undefined;
  /** When the failed thread had last changed whose run was asked to go on. */
  readonly retrying?: string | undefined;
  /** What begins a new branch just now. */
  readonly redo?: Redo | undefined;
  /** Of a conversation: which branch was selected here a moment ago. */
  readonly choice?: Choice | undefined;
}

const NONE: ThreadSends = { sends: [], failure: undefined };

export class Sends {
  readonly #threads = new Cell<ReadonlyMap<string, ThreadSends>>(new Map());

  of(threadKey: string): Readable<ThreadSends> {
    return derive([this.#threads], (threads) => threads.get(threadKey) ?? NONE);
  }

  /** Somebody else is here now: what the one before has sent is not his to see. */
  clear(): void {
    this.#threads.set(new Map());
  }

  change(threadKey: string, change: (before: ThreadSends) => ThreadSends): void {
    const threads = this.#threads.get();
    const before = threads.get(threadKey) ?? NONE;
    const after = change(before);
    if (after === before) return;
    const changed = new Map(threads).set(threadKey, after);
    const { sends, ...rest } = after;
    if (sends.length === 0 && !Object.values(rest).some(Boolean)) changed.delete(threadKey);
    this.#threads.set(changed);
  }
}

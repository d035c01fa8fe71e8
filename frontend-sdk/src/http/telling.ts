/**
 * What the frames of a session mean to a reader: messages, the thread, and text as it is written.
 *
 * Pure.  Laws, for whoever does `text = text.slice(0, offset) + delta` for each turn:
 *
 * - before a message of an assistant is told, its text has been: what was dropped on the way,
 *   written while nobody was connected, or not streamed at all, comes with it;
 * - text is told once, over any number of connections, and taken back (`offset` 0) only when
 *   another attempt says something else;
 * - whoever comes back with the `cursor` of an event misses no message: of several that came as
 *   one change, only the last bears the new one.
 */

import {
  applyToken,
  type LivePart,
  type LiveTurn,
  SILENT,
  settleTurns,
  spokenText,
} from "../core/live-text.js";
import { isBusy } from "../core/optimistic.js";
import {
  AGENT_MESSAGES,
  type Delta,
  type Message,
  type ServerFrame,
  type Snapshot,
  type ThreadView,
  type Token,
} from "../core/protocol.gen.js";
import { judge } from "../core/thread-state.js";
import type { Place } from "./reading.js";

/** A piece of what the model is saying, at its place in UTF-16 code units. */
interface Piece {
  readonly runId: string;
  /** Of the run: one turn, one message. */
  readonly turn: number;
  readonly offset: number;
  readonly delta: string;
}

export type StreamEvent =
  /** The newest messages, oldest first: they replace whatever one had. First, and after long breaks. */
  | {
      readonly type: "snapshot";
      readonly messages: readonly Message[];
      readonly cursor: string;
    }
  /** A message that is new, or that replaces the one with its id. */
  | { readonly type: "message"; readonly message: Message; readonly cursor: string }
  | { readonly type: "removed"; readonly messageId: string; readonly cursor: string }
  /** Status, usage, pending approvals and the rest. Null: it is not the caller's to see any more. */
  | { readonly type: "thread"; readonly thread: ThreadView | null }
  /** Of the text of the turn's message. */
  | ({ readonly type: "text" } & Piece)
  /** Of one part of it: what it thinks, or the JSON of a tool's arguments. Never the last word. */
  | ({ readonly type: "thinking" | "tool_args"; readonly part: number } & Piece);

/** Turns whose text is remembered: a message that comes again says nothing new. */
const REMEMBERED = 200;

export class Telling implements Place {
  cursor: string | undefined;
  isLost = false;
  readonly #run: string | undefined;
  #live = SILENT;
  /** What was told of turns that are no longer live. */
  readonly #told = new Map<string, string>();
  #thread: ThreadView | null | undefined;
  /** The messages of this connection have been told up to the thread. */
  #answered = false;
  #begun: boolean;

  /** Of one run, or of all; `cursor` is what the reader has. */
  constructor(run: string | undefined, cursor: string | undefined) {
    this.#run = run;
    this.cursor = cursor;
    this.#begun = cursor !== undefined;
  }

  /** Whether the run is over and all of it was told. */
  get isOver(): boolean {
    const thread = this.#thread;
    if (this.#run === undefined || thread === undefined || !this.#answered) return false;
    // The server tells of messages before it tells that their run is over.
    if (thread?.runId === this.#run) return !isBusy(thread.status);
    return thread === null || !thread.waiting.some(({ id }) => id === this.#run);
  }

  begin(): void {
    this.isLost = false;
    this.#answered = false;
    this.#thread = undefined;
  }

  /** Return what a frame tells. */
  tell(frame: ServerFrame): StreamEvent[] {
    switch (frame.type) {
      case "snapshot":
        return frame.id.startsWith(AGENT_MESSAGES) ? this.#snapshot(frame) : this.#status(frame);
      case "delta":
        return this.#delta(frame);
      case "token":
        return this.#token(frame);
      default:
        return [];
    }
  }

  #status({ value }: Snapshot): StreamEvent[] {
    this.#thread = value as ThreadView | null;
    return [{ type: "thread", thread: this.#thread }];
  }

  #snapshot({ value, cursor }: Snapshot): StreamEvent[] {
    const messages = value as readonly Message[];
    const isHistory = !this.#begun;
    const events = messages.flatMap((row) => {
      if (isHistory && row.runId !== this.#run) this.#remember(row);
      return this.#rest(row);
    });
    this.#live = settleTurns(this.#live, messages);
    this.cursor = cursor;
    this.#begun = this.#answered = true;
    return [...events, { type: "snapshot", messages, cursor }];
  }

  #delta(delta: Delta): StreamEvent[] {
    const mine = this.cursor;
    const verdict = mine === undefined ? "resubscribe" : judge(mine, delta);
    this.isLost = verdict === "resubscribe";
    if (mine === undefined || this.isLost) return [];
    this.#answered = true;
    if (verdict === "ignore") return [];
    this.cursor = delta.cursor;
    return delta.ops.flatMap((op, index): StreamEvent[] => {
      const cursor = index === delta.ops.length - 1 ? delta.cursor : mine;
      if (op.op === "remove") return [{ type: "removed", messageId: op.id, cursor }];
      const message = op.row as Message;
      const events = this.#rest(message);
      this.#live = settleTurns(this.#live, [message]);
      return [...events, { type: "message", message, cursor }];
    });
  }

  /** Return what a message says that was not told while it was written. */
  #rest(row: Message): StreamEvent[] {
    const { runId, turn, text } = row;
    if (row.role !== "assistant" || turn === undefined || !this.#concerns(runId)) return [];
    const told = this.#toldOf(runId, turn);
    this.#remember(row);
    if (told === text) return [];
    const offset = text.startsWith(told) ? told.length : 0;
    return [{ type: "text", runId, turn, offset, delta: text.slice(offset) }];
  }

  #token(token: Token): StreamEvent[] {
    const { run: runId, turn } = token;
    const { live } = applyToken(this.#live, token);
    if (live === this.#live) return [];
    const before = turnIn(this.#live.turns, token);
    const taken = before?.attempt !== token.attempt && this.#toldOf(runId, turn) !== "";
    this.#live = live;
    if (!this.#concerns(runId)) return [];
    const back: StreamEvent[] = taken ? [{ type: "text", runId, turn, offset: 0, delta: "" }] : [];
    const old = before?.attempt === token.attempt ? before.parts : [];
    return [...back, grown(token, old, turnIn(live.turns, token)?.parts ?? [])];
  }

  #concerns(run: string): boolean {
    return this.#run === undefined || this.#run === run;
  }

  #toldOf(run: string, turn: number): string {
    const live = turnIn(this.#live.turns, { run, turn });
    return live === undefined ? (this.#told.get(`${run}:${turn}`) ?? "") : spokenText([live]);
  }

  #remember({ role, runId, turn, text }: Message): void {
    if (role !== "assistant") return;
    const key = `${runId}:${turn}`;
    this.#told.delete(key);
    this.#told.set(key, text);
    const [oldest] = this.#told.size > REMEMBERED ? this.#told.keys() : [];
    if (oldest !== undefined) this.#told.delete(oldest);
  }
}

function turnIn(
  turns: readonly LiveTurn[],
  { run, turn }: Pick<Token, "run" | "turn">,
): LiveTurn | undefined {
  return turns.find((one) => one.run === run && one.turn === turn);
}

/** Return what a token has added to its part; to the whole text, where the part is of the text. */
function grown(
  { run: runId, turn, part, kind, offset, text }: Token,
  old: readonly LivePart[],
  parts: readonly LivePart[],
): StreamEvent {
  const had = old.find((one) => one.part === part && one.kind === kind);
  let start = had?.length ?? 0;
  let delta = text.slice(start - offset);
  if (offset === 0 && had !== undefined && !text.startsWith(had.text)) {
    start = 0;
    delta = text;
  }
  if (kind !== "text") return { type: kind, runId, turn, part, offset: start, delta };
  const spoken = parts.filter((one) => one.kind === "text");
  for (const one of spoken) {
    if (one.part < part) start += one.length;
    if (one.part > part) delta += one.text;
  }
  return { type: "text", runId, turn, offset: start, delta };
}

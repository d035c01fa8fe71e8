/**
 * What the model is saying just now, put together from token frames.
 *
 * Pure, and linear in the number of tokens: a part keeps its pieces in a list that only
 * grows, and joins what is new when somebody reads it.
 *
 * Laws: a piece is appended only at its place (`offset`, in UTF-16 units, as `length`
 * counts); what overlaps adds only what is beyond; what begins beyond is a gap, and the
 * old text stays until the part is sent whole.  A higher `attempt` replaces the turn when
 * it can show something, a lower one is dropped.  A turn whose message is there is closed.
 */

import type { Message, Token, TokenKind } from "./protocol.gen.js";

/** A part of a message that is being written. The same object until its text grows. */
export interface LivePart {
  readonly part: number;
  readonly kind: TokenKind;
  /** In UTF-16 code units. */
  readonly length: number;
  readonly text: string;
}

/** A message that is being written. */
export interface LiveTurn {
  readonly run: string;
  readonly turn: number;
  readonly attempt: number;
  readonly parts: readonly LivePart[];
}

export interface LiveText {
  /** In the order in which they began; nearly always one or none. */
  readonly turns: readonly LiveTurn[];
  /** Turns whose message is there, up to which attempt their tokens are late. */
  readonly closed: ReadonlyMap<string, number>;
}

export const SILENT: LiveText = { turns: [], closed: new Map() };

export interface Heard {
  readonly live: LiveText;
  /** Something before this token is missing: ask for the text so far. */
  readonly gap: boolean;
}

/** Return the text after a token. */
export function applyToken(live: LiveText, token: Token): Heard {
  const unchanged: Heard = { live, gap: false };
  if (token.attempt <= (live.closed.get(turnKey(token.run, token.turn)) ?? -1)) return unchanged;
  const before = live.turns.find((one) => one.run === token.run && one.turn === token.turn);
  if (before !== undefined && token.attempt < before.attempt) return unchanged;
  const parts = before?.attempt === token.attempt ? before.parts : [];
  const known = parts.find((one) => one.part === token.part);
  const part = extend(known, token);
  if (part === "late") return unchanged;
  if (part === "gap") return { live, gap: true };
  const after: LiveTurn = {
    run: token.run,
    turn: token.turn,
    attempt: token.attempt,
    parts: [...parts.filter((one) => one.part !== part.part), part].sort((a, b) => a.part - b.part),
  };
  const turns =
    before === undefined
      ? [...live.turns, after]
      : live.turns.map((one) => (one === before ? after : one));
  return { live: { ...live, turns }, gap: false };
}

/**
 * Return the text after rows have come, without the turns that they finish.
 *
 * An interrupted message closes its turn only for the attempts so far: its run may be
 * retried, and then the turn is spoken again.
 */
export function settleTurns(live: LiveText, rows: readonly Message[]): LiveText {
  const closed = new Map(live.closed);
  for (const row of rows) {
    if (row.role !== "assistant" || row.turn === undefined) continue;
    const key = turnKey(row.runId, row.turn);
    const spoken = live.turns.find((one) => turnKey(one.run, one.turn) === key)?.attempt ?? -1;
    const upTo = row.status === "interrupted" ? spoken : Number.POSITIVE_INFINITY;
    closed.set(key, Math.max(upTo, closed.get(key) ?? -1));
  }
  const turns = live.turns.filter(
    (one) => one.attempt > (closed.get(turnKey(one.run, one.turn)) ?? -1),
  );
  return { closed, turns: turns.length === live.turns.length ? live.turns : turns };
}

/** Return the turns that are still being spoken, given which runs are over. */
export function liveTurns(live: LiveText, isOver: (run: string) => boolean): readonly LiveTurn[] {
  return live.turns.some((one) => isOver(one.run))
    ? live.turns.filter((one) => !isOver(one.run))
    : live.turns;
}

/** Return the plain text of the newest turn. */
export function spokenText(turns: readonly LiveTurn[]): string {
  const parts = turns.at(-1)?.parts ?? [];
  return parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("");
}

function turnKey(run: string, turn: number): string {
  return `${run}:${turn}`;
}

function extend(before: LivePart | undefined, token: Token): LivePart | "late" | "gap" {
  const { offset, text, part, kind } = token;
  if (!(before instanceof Growing) || before.kind !== kind) {
    return offset === 0 ? new Growing(part, kind, new Pieces([text]), 1, text.length) : "gap";
  }
  if (offset > before.length) return "gap";
  if (offset === 0) {
    // The whole text again. It may have been read a moment before what has come since.
    if (before.text.startsWith(text)) return "late";
    return new Growing(part, kind, new Pieces([text]), 1, text.length);
  }
  const beyond = text.slice(before.length - offset);
  return beyond === "" ? "late" : before.with(beyond);
}

class Growing implements LivePart {
  readonly part: number;
  readonly kind: TokenKind;
  readonly length: number;
  readonly #pieces: Pieces;
  readonly #count: number;

  constructor(part: number, kind: TokenKind, pieces: Pieces, count: number, length: number) {
    this.part = part;
    this.kind = kind;
    this.length = length;
    this.#pieces = pieces;
    this.#count = count;
  }

  get text(): string {
    return this.#pieces.read(this.#count);
  }

  with(text: string): Growing {
    const pieces = this.#pieces.with(this.#count, text);
    return new Growing(this.part, this.kind, pieces, this.#count + 1, this.length + text.length);
  }
}

/** Pieces of text that only grow. Every version of a part sees its own first `count`. */
class Pieces {
  readonly #list: string[];
  #joined = "";
  #joinedCount = 0;

  constructor(list: string[]) {
    this.#list = list;
  }

  /** Return pieces with `text` after the first `count`; shared unless that place is taken. */
  with(count: number, text: string): Pieces {
    if (count !== this.#list.length) return new Pieces([...this.#list.slice(0, count), text]);
    this.#list.push(text);
    return this;
  }

  read(count: number): string {
    if (count < this.#joinedCount) return this.#list.slice(0, count).join("");
    this.#joined += this.#list.slice(this.#joinedCount, count).join("");
    this.#joinedCount = count;
    return this.#joined;
  }
}

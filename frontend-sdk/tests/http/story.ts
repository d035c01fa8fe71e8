/** A conversation as a server tells it to whoever connects, at whatever moment, from any cursor. */

import type { Message, RowOp, ServerFrame, Token } from "../../src/core/index.js";
import { AGENT_MESSAGES, AGENT_THREAD } from "../../src/core/protocol.gen.js";
import { aMessage, aThread, aToken } from "../support/builders.js";

const MESSAGES = `${AGENT_MESSAGES}{"key":"t-1"}`;
const THREAD = `${AGENT_THREAD}{"key":"t-1"}`;
const at = (version: number) => `7-1.${version}`;

type Step = { readonly token: Token } | { readonly commit: readonly Message[] };

/** What is said and stored: a question, two turns with a tool between them, one after the other. */
export class Story {
  readonly steps: readonly Step[];
  readonly messages: readonly Message[];

  constructor(first: string, second: string) {
    const spoken = (turn: number, text: string): Step[] => {
      const pieces = [...text];
      return pieces.map((piece, index) => {
        const offset = pieces.slice(0, index).join("").length;
        return { token: aToken({ id: MESSAGES, turn, offset, text: piece }) };
      });
    };
    const rows = [
      aMessage({ seq: 1, role: "user", text: "hi" }),
      aMessage({ seq: 2, turn: 0, text: first }),
      aMessage({ seq: 3, role: "tool", text: "", status: "open" }),
      aMessage({ seq: 4, turn: 1, text: second }),
    ];
    const done = rows.slice(2, 3).map((row): Message => ({ ...row, status: "complete" }));
    this.steps = [
      { commit: rows.slice(0, 1) },
      ...spoken(0, first),
      { commit: rows.slice(1, 3) },
      { commit: done },
      ...spoken(1, second),
      { commit: rows.slice(3) },
    ];
    this.messages = rows.map((row) => done.find(({ id }) => id === row.id) ?? row);
  }

  /** Return what is sent to who connects when the first `told` steps have been. */
  connection(cursor: string | undefined, told: number): ServerFrame[] {
    return this.moments(cursor, told).map(([frame]) => frame);
  }

  /** The same, each frame with how many steps have been when it is sent. */
  moments(cursor: string | undefined, told: number): (readonly [ServerFrame, number])[] {
    const before = this.steps.slice(0, told);
    const since = cursor === undefined ? 0 : Number(cursor.split(".")[1]);
    const commits = before.flatMap((step) => ("commit" in step ? [step.commit] : []));
    const missed = latest(commits.slice(since).flat());
    let version = commits.length;
    const answer: ServerFrame =
      cursor === undefined
        ? { type: "snapshot", id: MESSAGES, cursor: at(version), value: missed }
        : delta(since, version, missed);
    const first = [answer, this.#thread(version, told), ...spokenSoFar(before)];
    const moments = first.map((frame): readonly [ServerFrame, number] => [frame, told]);
    this.steps.slice(told).forEach((step, index) => {
      const now = told + index + 1;
      if ("token" in step) {
        moments.push([step.token, now]);
      } else {
        moments.push([delta(version, version + 1, step.commit), now]);
        version += 1;
        moments.push([this.#thread(version, now), now]);
      }
    });
    return moments;
  }

  #thread(version: number, told: number): ServerFrame {
    const status = told === this.steps.length ? "completed" : "running";
    return { type: "snapshot", id: THREAD, cursor: at(version), value: aThread({ status }) };
  }
}

function spokenSoFar(before: readonly Step[]): Token[] {
  const last = before.findLastIndex((step) => "commit" in step);
  const tokens = before.slice(last + 1).flatMap((step) => ("token" in step ? [step.token] : []));
  const text = tokens.map((token) => token.text).join("");
  return tokens.slice(0, 1).map((token) => ({ ...token, offset: 0, text }));
}

function latest(rows: readonly Message[]): Message[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

function delta(from: number, to: number, rows: readonly Message[]): ServerFrame {
  const ops = rows.map((row): RowOp => ({ op: "upsert", row }));
  return { type: "delta", id: MESSAGES, from: at(from), cursor: at(to), ops };
}

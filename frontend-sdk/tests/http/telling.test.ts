/** What the frames of a session tell: every text once, before its message, whatever was lost. */

import { describe, expect, it } from "vitest";
import type {
  Message,
  RowOp,
  ServerFrame,
  StreamEvent,
  ThreadView,
  Token,
} from "../../src/core/index.js";
import { AGENT_MESSAGES, AGENT_THREAD } from "../../src/core/protocol.gen.js";
import { Telling } from "../../src/http/telling.js";
import { aMessage, aThread, aToken } from "../support/builders.js";

const MESSAGES = `${AGENT_MESSAGES}{"key":"t-1"}`;
const cursor = (version: number) => `7-1.${version}`;

const page = (version: number, ...value: Message[]): ServerFrame => ({
  type: "snapshot",
  id: MESSAGES,
  cursor: cursor(version),
  value,
});
const rows = (from: number, to: number, ...given: Message[]): ServerFrame => ({
  type: "delta",
  id: MESSAGES,
  from: cursor(from),
  cursor: cursor(to),
  ops: given.map((row): RowOp => ({ op: "upsert", row })),
});
const status = (over: Partial<ThreadView> | null): ServerFrame => ({
  type: "snapshot",
  id: `${AGENT_THREAD}{"key":"t-1"}`,
  cursor: cursor(1),
  value: over && aThread(over),
});
const spoken = (offset: number, text: string, over: Partial<Token> = {}) =>
  aToken({ offset, text, ...over });

/** Return what a reader has who does as the laws say, turn by turn; checks them on the way. */
function heard(telling: Telling, frames: readonly ServerFrame[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const event of frames.flatMap((frame) => telling.tell(frame))) {
    if (event.type === "text") {
      const key = `${event.runId}:${event.turn}`;
      const had = texts.get(key) ?? "";
      expect(event.offset).toBeLessThanOrEqual(had.length);
      texts.set(key, had.slice(0, event.offset) + event.delta);
    } else if (event.type === "message" && event.message.role === "assistant") {
      const { runId, turn, text } = event.message;
      expect(texts.get(`${runId}:${turn}`) ?? "").toBe(text);
    }
  }
  return texts;
}

const kinds = (events: readonly StreamEvent[]) => events.map(({ type }) => type);
const greeting = aMessage({ seq: 1, role: "user", text: "hi" });
const answer = (text: string, over: Partial<Message> = {}) =>
  aMessage({ seq: 2, id: "m-2", text, ...over });

describe("SDK-14 the text of an answer", () => {
  it.each<[string, ServerFrame[]]>([
    ["was streamed", [spoken(0, "hel"), spoken(3, "lo "), spoken(6, "you")]],
    ["was not streamed at all", []],
    ["lost its middle", [spoken(0, "hel"), spoken(6, "you")]],
    ["lost its end", [spoken(0, "hel"), spoken(3, "lo ")]],
    ["came twice", [spoken(0, "hel"), spoken(0, "hello "), spoken(3, "lo "), spoken(6, "you")]],
    ["overlaps", [spoken(0, "hello"), spoken(3, "lo you")]],
    [
      "began again, otherwise",
      [spoken(0, "good day"), spoken(0, "hel", { attempt: 101 }), spoken(8, " sir")],
    ],
    [
      "is of several parts",
      [
        spoken(0, "hmm", { kind: "thinking" }),
        spoken(0, "hello", { part: 1 }),
        spoken(0, " you", { part: 3 }),
        spoken(0, "hello", { part: 1 }),
      ],
    ],
    [
      "was said again in one of its parts",
      [spoken(0, "hi"), spoken(0, " you", { part: 2 }), spoken(0, "hello")],
    ],
    ["is another one than was streamed, and nothing of that came", [spoken(0, "good day")]],
  ])("is whole when its message is told: it %s", (_, tokens) => {
    const frames = [page(1, greeting), ...tokens, rows(1, 2, answer("hello you"))];

    expect(heard(new Telling(undefined, undefined), frames)).toEqual(
      new Map([["r-1:0", "hello you"]]),
    );
  });

  it("is told once: what grows is told as it grows, what comes again is nothing new", () => {
    const telling = new Telling(undefined, undefined);
    telling.tell(page(1, greeting));

    const told = [spoken(0, "hello"), spoken(5, " you"), spoken(0, "hello")].flatMap((token) =>
      telling.tell(token),
    );
    const last = telling.tell(rows(1, 2, answer("hello you")));
    const again = telling.tell(rows(2, 3, answer("hello you")));
    const late = telling.tell(spoken(9, " there"));

    const text = { type: "text", runId: "r-1", turn: 0 };
    expect(told).toEqual([
      { ...text, offset: 0, delta: "hello" },
      { ...text, offset: 5, delta: " you" },
    ]);
    expect(kinds([...last, ...again, ...late])).toEqual(["message", "message"]);
  });

  it("of an attempt that broke off is taken back when the turn is spoken again", () => {
    const frames = [
      page(1, greeting),
      spoken(0, "I thi"),
      rows(1, 2, answer("I thi", { status: "interrupted" })),
      spoken(0, "We", { attempt: 200 }),
      rows(2, 3, answer("We know")),
    ];

    const texts = heard(new Telling(undefined, undefined), frames);

    expect(texts.get("r-1:0")).toBe("We know");
  });

  it("is taken back as soon as another attempt begins, though that thinks first", () => {
    const telling = new Telling(undefined, undefined);
    telling.tell(page(1));
    telling.tell(spoken(0, "wrong"));

    const told = telling.tell(spoken(0, "hmm", { kind: "thinking", attempt: 101 }));

    expect(told[0]).toEqual({ type: "text", runId: "r-1", turn: 0, offset: 0, delta: "" });
    expect(kinds(told)).toEqual(["text", "thinking"]);
  });

  it("of what was there before is no news, unless it is of the run that is asked for", () => {
    const old = answer("old", { runId: "r-0" });
    const quick = aMessage({ seq: 4, text: "quick" });
    const frames = [page(9, greeting, old, quick)];

    expect(heard(new Telling(undefined, undefined), frames).size).toBe(0);
    expect(heard(new Telling("r-1", undefined), frames)).toEqual(new Map([["r-1:0", "quick"]]));
  });

  it("of other runs is not told to who asks for one", () => {
    const other = { run: "r-0" };
    const frames = [page(1), spoken(0, "theirs", other), spoken(0, "mine")];

    expect(heard(new Telling("r-1", undefined), frames)).toEqual(new Map([["r-1:0", "mine"]]));
  });

  it("is beside thoughts and arguments, each part at its own place", () => {
    const telling = new Telling(undefined, undefined);
    telling.tell(page(1));

    const told = [
      spoken(0, "let me", { kind: "thinking" }),
      spoken(0, '{"ci', { kind: "tool_args", part: 1 }),
      spoken(4, 'ty"', { kind: "tool_args", part: 1 }),
    ].flatMap((token) => telling.tell(token));

    const at = { runId: "r-1", turn: 0 };
    expect(told).toEqual([
      { type: "thinking", ...at, part: 0, offset: 0, delta: "let me" },
      { type: "tool_args", ...at, part: 1, offset: 0, delta: '{"ci' },
      { type: "tool_args", ...at, part: 1, offset: 4, delta: 'ty"' },
    ]);
  });
});

describe("SDK-14 the cursor of an event", () => {
  it("is the new one only when all of a change was told", () => {
    const telling = new Telling(undefined, undefined);
    telling.tell(page(4));
    const told = telling.tell(rows(4, 6, greeting, answer("yes")));

    const cursors = told.flatMap((event) => ("cursor" in event ? [event.cursor] : []));
    expect(cursors).toEqual([cursor(4), cursor(6)]);
    expect(telling.cursor).toBe(cursor(6));
  });

  it("says what was told already, and that something is missing", () => {
    const telling = new Telling(undefined, cursor(4));

    expect(telling.tell(rows(3, 4, greeting))).toEqual([]);
    expect(telling.isLost).toBe(false);
    expect(telling.tell(rows(6, 7, greeting))).toEqual([]);
    expect(telling.isLost).toBe(true);
    expect(telling.cursor).toBe(cursor(4));
  });
});

describe("SDK-14 a run is over", () => {
  const waits = { id: "r-1", kind: "run", text: "", position: 1, createdAt: "" } as const;

  it.each<[string, boolean, ServerFrame[]]>([
    ["at work", false, [page(1), status({ status: "running" })]],
    ["waiting for a person", false, [page(1), status({ status: "awaiting_input" })]],
    ["waiting its turn", false, [page(1), status({ runId: "r-0", waiting: [waits] })]],
    ["done", true, [page(1), status({ status: "completed" })]],
    ["failed", true, [page(1), status({ status: "failed" })]],
    ["done long ago", true, [page(1), status({ runId: "r-2" })]],
    ["nobody's to see any more", true, [page(1), status(null)]],
    ["done, and its messages are not here yet", false, [status({ status: "completed" })]],
  ])("or not: %s", (_, over, frames) => {
    const telling = new Telling("r-1", undefined);
    for (const frame of frames) telling.tell(frame);

    expect(telling.isOver).toBe(over);
  });

  it("only once the connection has told what was missed", () => {
    const telling = new Telling("r-1", undefined);
    telling.tell(page(1));
    telling.tell(status({ status: "running" }));
    telling.begin();
    telling.tell(status({ status: "completed" }));
    expect(telling.isOver).toBe(false);

    telling.tell(rows(1, 2, answer("done")));
    expect(telling.isOver).toBe(true);
  });
});

/** The golden messages that Python reads too. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type ClientFrame,
  canonicalId,
  type Delta,
  type Message,
  type ServerFrame,
} from "../src/core/index.js";
import { encodeClientFrame, parseServerFrame } from "../src/core/protocol.js";
import { judge, type Verdict } from "../src/core/thread-state.js";

interface Named {
  readonly name: string;
}

function vectors<T>(file: string): (T & Named)[] {
  const url = new URL(`../../tests/protocol/vectors/${file}`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")) as (T & Named)[];
}

describe("the golden messages", () => {
  it.each(vectors<{ frame: ServerFrame }>("server_frames.json"))("server: $name", ({ frame }) => {
    expect(parseServerFrame(JSON.stringify(frame))).toEqual(frame);
  });

  it.each(vectors<{ frame: ClientFrame }>("client_frames.json"))("client: $name", ({ frame }) => {
    expect(JSON.parse(encodeClientFrame(frame))).toEqual(frame);
  });

  it.each(
    vectors<Pick<Delta, "from" | "cursor"> & { mine: string; then: Verdict }>("cursors.json"),
  )("SUB-03 cursor: $name", ({ mine, then, ...delta }) => {
    expect(judge(mine, delta)).toBe(then);
  });

  it.each(
    vectors<{ query: string; args: Record<string, unknown>; id: string }>("subscription_ids.json"),
  )("subscription id: $name", ({ query, args, id }) => {
    expect(canonicalId(query, args)).toBe(id);
  });

  it.each(vectors<{ row: Message }>("messages.json"))("message: $name", ({ row }) => {
    const text = row.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    if (row.role === "user" || row.role === "assistant") expect(row.text).toBe(text);
    expect(row.parts.every((part) => typeof part.type === "string")).toBe(true);
  });
});

describe("a frame of a later day", () => {
  it.each(['{"type":"presence"}', '{"type":"toString"}', "{", "null", "7", '{"kind":"x"}'])(
    "%s is ignored",
    (raw) => {
      expect(parseServerFrame(raw)).toBeUndefined();
    },
  );
});

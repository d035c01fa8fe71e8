/** Server-sent events, cut at every place. */

import { expect, it } from "vitest";
import { EventParser } from "../../src/http/event-parser.js";

const STREAM = [
  "retry: 1000\n\n",
  ": a comment\n\n",
  'id: 7.1\ndata: {"text":"naïve 🪢 ropes"}\n\n',
  ":\n\n",
  "data:first\r\ndata: second\r\n\r\n",
  "data\r\rretry: soon\revent: other\rdata:  two spaces\r\r",
  "data: never ended",
].join("");
const ENDED = ['{"text":"naïve 🪢 ropes"}', "first\nsecond", "", " two spaces"];

it("SDK-14 an event is read whole, wherever the bytes are cut", () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let size = 1; size <= bytes.length; size += 1) {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const read: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      read.push(...parser.feed(decoder.decode(bytes.slice(at, at + size), { stream: true })));
    }

    expect(read, `in pieces of ${size}`).toEqual(ENDED);
    expect(parser.retryMs).toBe(1000);
  }
});

it("SDK-14 a long event costs each piece once", () => {
  const parser = new EventParser();
  const piece = "x".repeat(10);
  parser.feed("data: ");
  const begun = performance.now();
  for (let count = 0; count < 200_000; count += 1) parser.feed(piece);

  expect(parser.feed("\n\n")[0]).toHaveLength(2_000_000);
  // Quadratic it would be 200 GB of copying.
  expect(performance.now() - begun).toBeLessThan(10_000);
});

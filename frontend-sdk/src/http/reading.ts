/**
 * The frames of one session, over as many connections as it takes.
 *
 * Laws: it comes back from the cursor of the last frame that was handed on, so nothing is missed;
 * it waits as long as the server asked and a little longer after each connection that brought
 * nothing; whoever stops reading ends the request.
 */

import type { ServerFrame } from "../core/protocol.gen.js";
import { parseServerFrame } from "../core/protocol.js";
import { EventParser } from "./event-parser.js";
import { HttpError, isPassing, unanswered } from "./http-error.js";
import { link, stopIf, type Transport } from "./transport.js";

/** The server breaks its silence every 20 s. */
const SILENCE_MS = 60_000;
/** What is waited before one comes back, unless the server says otherwise. */
const RETRY_MS = 1_000;
/** Connections in a row that bring nothing, once there was one that did: about a minute. */
const MAX_FAILURES = 10;

export interface Place {
  /** Up to where everything is known. */
  readonly cursor: string | undefined;
  /** Something is missing that only a new connection can bring. */
  readonly isLost: boolean;
  /** A connection begins: what comes first on it answers for what was missed. */
  begin(): void;
}

/** Yield the frames of a stream, from `place.cursor` on. */
export async function* readFrames(
  transport: Transport,
  path: string,
  place: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<ServerFrame, never> {
  let failures = 0;
  let patience = transport.retries;
  for (;;) {
    stopIf(signal);
    const line = new AbortController();
    const unlink = link(signal, line);
    const parser = new EventParser();
    let failure = new HttpError("UNAVAILABLE", "the stream ended");
    let askedMs = RETRY_MS;
    try {
      const body = await open(transport, path, place.cursor, line);
      place.begin();
      for await (const data of eventsOf(transport, body, parser, line)) {
        const frame = parseServerFrame(data);
        if (frame === undefined) continue;
        failures = 0;
        patience = MAX_FAILURES;
        yield frame;
        if (place.isLost) break;
      }
    } catch (thrown) {
      stopIf(signal);
      failure = unanswered(thrown);
      if (!isPassing(failure)) throw failure;
      askedMs = failure.retryAfterMs ?? askedMs;
    } finally {
      unlink();
    }
    failures += 1;
    if (failures > patience) throw failure;
    await transport.pause((parser.retryMs ?? askedMs) + transport.backoff(failures), signal);
  }
}

async function open(
  transport: Transport,
  path: string,
  cursor: string | undefined,
  line: AbortController,
): Promise<ReadableStream<Uint8Array>> {
  const headers = {
    accept: "text/event-stream",
    ...(cursor !== undefined && { "last-event-id": cursor }),
  };
  const { body, status } = await transport.within(transport.timeoutMs, line, () =>
    transport.attempt(path, { method: "GET", headers }, line.signal),
  );
  if (body) return body;
  throw new HttpError(
    "INVALID_ARGUMENT",
    "this fetch gives no body to read as it comes: hand another to createHttpClient({ fetch })," +
      " or watch the session with createClient",
    { status },
  );
}

async function* eventsOf(
  transport: Transport,
  body: ReadableStream<Uint8Array>,
  parser: EventParser,
  line: AbortController,
): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await transport.within(SILENCE_MS, line, () => reader.read());
      if (done) return;
      yield* parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Whoever stops reading ends the request.
    reader.cancel().catch(() => {});
  }
}

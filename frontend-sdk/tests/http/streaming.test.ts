/** Following a session over HTTP: cuts at every byte, pauses, ends. */

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Message, StreamEvent } from "../../src/core/index.js";
import { waitUntil } from "../support/wait-until.js";
import { type Answer, begin, clientOf, cut, eventOf, events, json, TestServer } from "./server.js";
import { Story } from "./story.js";

const story = new Story("Knots: 🪢 naïve", "所有");
const encoder = new TextEncoder();

/** What a reader has in the end who keeps messages and texts as the events say. */
class Reader {
  readonly messages = new Map<string, Message>();
  readonly texts = new Map<number, string>();
  readonly events: StreamEvent[] = [];

  take(event: StreamEvent): void {
    this.events.push(event);
    if (event.type === "snapshot") {
      this.messages.clear();
      for (const message of event.messages) this.messages.set(message.id, message);
    } else if (event.type === "message") {
      this.messages.set(event.message.id, event.message);
    } else if (event.type === "text") {
      const had = this.texts.get(event.turn) ?? "";
      // Nothing is taken back here, so whoever only appends has the same.
      expect(event.offset).toBe(had.length);
      this.texts.set(event.turn, had + event.delta);
    }
  }

  async follow(stream: AsyncIterable<StreamEvent>): Promise<this> {
    for await (const event of stream) this.take(event);
    return this;
  }

  expectAll(): void {
    expect([...this.messages.values()]).toEqual(story.messages);
    expect([...this.texts.values()]).toEqual(["Knots: 🪢 naïve", "所有"]);
  }
}

const telling: Answer = (response, { headers }) =>
  events(...story.connection(headers["last-event-id"] as string | undefined, 0))(response, never);
const never = { method: "", url: "", headers: {}, body: undefined };
const refused = (code: string, status: number) => json({ code, message: "no" }, status);

describe("SDK-14 a stream", () => {
  it("tells messages and their text as it is written, and ends with its run", async () => {
    const server = await TestServer.start(telling);
    const { client } = clientOf(server, { token: "t-1" });

    const reader = await new Reader().follow(
      client.agents.stream("support", "s/1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(reader.events.at(-1)).toMatchObject({ type: "thread", thread: { status: "completed" } });
    expect(server.received).toMatchObject([
      { url: "/agents/support/sessions/s%2F1/stream", headers: { authorization: "Bearer t-1" } },
    ]);
    expect(server.received[0]?.headers).not.toHaveProperty("last-event-id");
  });

  it("is read whole when each byte comes alone", async () => {
    const bytes = encoder.encode(story.connection(undefined, 0).map(eventOf).join(""));
    const { client } = clientOf(
      { url: "http://in-process" },
      { fetch: async () => new Response(inPieces([...bytes].map((byte) => Uint8Array.of(byte)))) },
    );

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
  });

  it("comes back from where it was, and tells nothing twice", async () => {
    const server = await TestServer.start((response, { headers }) => {
      const cursor = headers["last-event-id"] as string | undefined;
      begin(response);
      const frames = story.connection(cursor, cursor === undefined ? 0 : 8);
      const last = cursor === undefined ? 10 : frames.length;
      for (const frame of frames.slice(0, last)) response.write(eventOf(frame));
      setImmediate(() => response.destroy());
    });
    const { client, pauses } = clientOf(server);

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(server.received.map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      "7-1.1",
    ]);
    expect(pauses).toEqual([1600]);
  });

  it("is the same wherever it was cut, and however far the server was when it came back", async () => {
    const cuts = story.moments(undefined, 1).flatMap(([frame, told], index, all) => {
      const before = all.slice(0, index).map(([one]) => eventOf(one));
      const bytes = encoder.encode([...before, eventOf(frame)].join(""));
      const start = encoder.encode(before.join("")).length;
      // At its first and last bytes, and inside of a character: what is between is the same.
      const inside = bytes.findIndex((byte, at) => at >= start && byte > 0xc0) + 1;
      return [start, start + 1, inside, bytes.length - 2, bytes.length - 1]
        .filter((length) => length >= start)
        .flatMap((length) =>
          [told, story.steps.length].map((reached) => ({
            sent: bytes.slice(0, length),
            reached,
          })),
        );
    });
    for (const { sent, reached } of cuts) {
      const asked: (string | undefined)[] = [];
      const { client } = clientOf(
        { url: "http://in-process" },
        {
          fetch: async (_, { headers }) => {
            const cursor = (headers as Record<string, string>)["last-event-id"];
            asked.push(cursor);
            return asked.length === 1
              ? broken(sent)
              : new Response(story.connection(cursor, reached).map(eventOf).join(""));
          },
        },
      );

      const reader = await new Reader().follow(
        client.agents.stream("support", "s-1", { runId: "r-1" }),
      );

      reader.expectAll();
      expect(asked).toHaveLength(2);
    }
  });

  it("in which something is missing is asked for again from there", async () => {
    const isCommit = (frame: { readonly type: string }) => frame.type === "delta";
    const whole = story.connection(undefined, 1);
    const lost = whole.findIndex(isCommit);
    const server = await TestServer.start(
      events(...whole.filter((_, index) => index !== lost)),
      (response, { headers }) => {
        const cursor = headers["last-event-id"] as string;
        events(...story.connection(cursor, 10))(response, never);
      },
    );
    const { client } = clientOf(server);

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(server.received.map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      "7-1.1",
    ]);
  });

  it("that comes back to hear that its run is over hears first of what it missed", async () => {
    const server = await TestServer.start(
      events(...story.connection(undefined, 1).slice(0, 4)),
      (response, { headers }) => {
        const cursor = headers["last-event-id"] as string;
        const [missed, over] = story.connection(cursor, story.steps.length) as [object, object];
        events(over, missed)(response, never);
      },
    );
    const { client } = clientOf(server);

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
  });

  it("goes on from the cursor of an event, in another process", async () => {
    const server = await TestServer.start(telling, (response, { headers }) => {
      const cursor = headers["last-event-id"] as string;
      events(...story.connection(cursor, story.steps.length))(response, never);
    });
    const { client } = clientOf(server);
    const reader = new Reader();
    let cursor: string | undefined;
    for await (const event of client.agents.stream("support", "s-1")) {
      if (event.type === "message" && event.message.seq === 2) break;
      reader.take(event);
      if ("cursor" in event) cursor = event.cursor;
    }
    const later = new Reader();

    await later.follow(client.agents.stream("support", "s-1", { runId: "r-1", cursor }));

    expect([...reader.messages.keys(), ...later.messages.keys()]).toEqual([
      "m-1",
      "m-2",
      "m-3",
      "m-4",
    ]);
  });
});

describe("SDK-14 a stream whose server", () => {
  it("B110 closes it politely at once, again and again, is left alone more and more", async () => {
    const server = await TestServer.start(events());
    const { client, pauses } = clientOf(server, { retries: 3 });

    const followed = new Reader().follow(client.agents.stream("support", "s-1"));

    await expect(followed).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(pauses).toEqual([1600, 2200, 3400]);
  });

  it("cuts it again and again is never given up while something comes", async () => {
    const server = await TestServer.start(
      ...Array<Answer>(12).fill(events(...story.connection(undefined, 1).slice(0, 2))),
      telling,
    );
    const { client, pauses } = clientOf(server);

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(pauses).toEqual(Array(12).fill(1600));
  });

  it("goes away is waited for as long as it said", async () => {
    const goodbye = `retry: 7000\ndata: {"type":"goodbye","reason":"draining"}\n\n`;
    const server = await TestServer.start(
      events(...story.connection(undefined, 1).slice(0, 3), goodbye),
      cut,
      telling,
    );
    const { client, pauses } = clientOf(server);

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(pauses).toEqual([7600, 2200]);
  });

  it("falls silent is left for another line", async () => {
    const server = await TestServer.start((response) => begin(response), telling);
    const { client } = clientOf(server, {
      environment: {
        after: (ms, then) => {
          const isReading = server.received.length === 1;
          const timer = setTimeout(then, ms < 30_000 ? 0 : isReading ? 200 : ms);
          return () => clearTimeout(timer);
        },
      },
    });

    const reader = await new Reader().follow(
      client.agents.stream("support", "s-1", { runId: "r-1" }),
    );

    reader.expectAll();
    expect(server.received).toHaveLength(2);
  });

  it.each([
    ["NOT_FOUND", 404],
    ["UNAUTHENTICATED", 401],
  ])("refuses it with %s has it ended, also when it comes back", async (code, status) => {
    const some = events(...story.connection(undefined, 1).slice(0, 4));
    const server = await TestServer.start(some, refused(code, status));

    const reader = new Reader();
    const followed = reader.follow(clientOf(server).client.agents.stream("support", "s-1"));

    await expect(followed).rejects.toMatchObject({ code, status });
    expect(reader.events).not.toEqual([]);
    expect(server.received).toHaveLength(2);
  });
});

describe("SDK-14 a stream that nobody needs any more", () => {
  async function followed() {
    const state = { closed: false };
    const server = await TestServer.start((response) => {
      response.on("close", () => {
        state.closed = true;
      });
      begin(response);
      for (const frame of story.connection(undefined, 1).slice(0, 3))
        response.write(eventOf(frame));
    });
    return { state, ...clientOf(server) };
  }

  it("is closed when the loop is left", async () => {
    const { client, state } = await followed();

    for await (const event of client.agents.stream("support", "s-1")) {
      if (event.type === "text") break;
    }

    await waitUntil(() => state.closed, "the line is closed");
  });

  it("is closed when it is aborted, and throws the reason", async () => {
    const { client, state } = await followed();
    const stop = new AbortController();
    const reason = new Error("enough");

    const reading = (async () => {
      for await (const event of client.agents.stream("support", "s-1", { signal: stop.signal })) {
        if (event.type === "text") void sleep(1).then(() => stop.abort(reason));
      }
    })();

    await expect(reading).rejects.toBe(reason);
    await waitUntil(() => state.closed, "the line is closed");
  });
});

it("SDK-14 a runtime whose fetch does not stream is told so", async () => {
  const { client } = clientOf(
    { url: "http://in-process" },
    { fetch: async () => ({ ok: true, status: 200, body: undefined }) as unknown as Response },
  );

  const followed = new Reader().follow(client.agents.stream("support", "s-1"));

  await expect(followed).rejects.toThrow(/this fetch gives no body to read as it comes/);
});

/** A body whose pieces are read one by one; `end` says how it ends. */
function inPieces(
  pieces: readonly Uint8Array<ArrayBuffer>[],
  end: (controller: ReadableStreamDefaultController) => void = (controller) => controller.close(),
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const left = pieces.filter(({ length }) => length > 0);
  return new ReadableStream({
    pull(controller) {
      const piece = left.shift();
      if (piece === undefined) end(controller);
      else controller.enqueue(piece);
    },
  });
}

/** An answer that breaks off after some bytes. */
function broken(bytes: Uint8Array<ArrayBuffer>): Response {
  const cutOff = (controller: ReadableStreamDefaultController) =>
    controller.error(new Error("the line was cut"));
  return new Response(inPieces([bytes], cutOff));
}

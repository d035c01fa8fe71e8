/** A server of HTTP in a few lines, on a real socket: it answers as it is told, byte by byte. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach } from "vitest";
import { createHttpClient, type HttpClient, type HttpClientOptions } from "../../src/core/index.js";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export type Answer = (response: ServerResponse, request: Received) => unknown;

const open: TestServer[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

export class TestServer {
  readonly url: string;
  /** Every request that came. */
  readonly received: Received[] = [];
  /** One for each request that comes; the last one answers all that follow. */
  answers: Answer[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(...answers: Answer[]): Promise<TestServer> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const made = new TestServer(server);
    made.answers = answers;
    open.push(made);
    return made;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const received = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: body === "" ? undefined : JSON.parse(body),
    };
    this.received.push(received);
    const answer = this.answers[Math.min(this.received.length, this.answers.length) - 1];
    await answer?.(response, received);
  }
}

/** A client whose pauses are short and that keeps how long they would have been. */
export function clientOf(
  { url }: Pick<TestServer, "url">,
  options: Partial<HttpClientOptions> = {},
): { readonly client: HttpClient; readonly pauses: number[] } {
  const pauses: number[] = [];
  const client = createHttpClient({
    url,
    ...options,
    environment: {
      random: () => 1,
      after(ms, then) {
        // What bounds an attempt is nearly always taken back; a pause comes true, at once.
        const isBound = ms >= 30_000;
        if (!isBound) pauses.push(ms);
        const timer = setTimeout(then, isBound ? ms : 0);
        return () => clearTimeout(timer);
      },
      ...options.environment,
    },
  });
  return { client, pauses };
}

/** Answer with JSON. */
export const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(value));

/** Cut the line before there is an answer. */
export const cut: Answer = (response) => response.destroy();

/** Send a stream's events and end it. */
export const events =
  (...frames: readonly (object | string)[]): Answer =>
  (response) => {
    begin(response);
    for (const frame of frames) response.write(eventOf(frame));
    response.end();
  };

export function begin(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("retry: 1000\n\n");
}

export function eventOf(frame: object | string): string {
  return typeof frame === "string" ? frame : `data: ${JSON.stringify(frame)}\n\n`;
}

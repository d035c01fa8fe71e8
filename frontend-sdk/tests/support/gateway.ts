/**
 * A gateway in a few lines, on a real socket or on a line of a test's own (`inMemory`): it speaks
 * the protocol and does as it is told.
 *
 * It keeps threads in memory, answers subscriptions by their cursors, and lets a test cut
 * the line, fall silent, refuse a token or be slow. What it was asked is kept.
 */

import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  Call,
  ClientFrame,
  ErrorCode,
  Message,
  ServerFrame,
  Subscribe,
  ThreadView,
  Token,
} from "../../src/core/index.js";

export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly data: unknown;
  constructor(code: ErrorCode, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Thread {
  version: number;
  rows: { version: number; row: Message }[];
  view: ThreadView | null;
  live: Map<string, Token>;
  state: unknown;
}

/** The server's end of a line. */
export type Wire = Pick<WebSocket, "send" | "close" | "terminate">;

/** What comes over it. */
export interface Accepted {
  receive(text: string): void;
  gone(): void;
}

interface Line {
  readonly socket: Wire;
  readonly subscriptions: Map<string, Subscribe & { sent: string }>;
}

type Handler = (args: Record<string, unknown>, call: Call) => unknown;

export class TestGateway {
  readonly url: string;
  readonly #server: WebSocketServer | undefined;
  readonly #threads = new Map<string, Thread>();
  readonly #answered = new Map<string, unknown>();
  readonly lines = new Set<Line>();
  /** Every frame that came, over all sockets. */
  readonly received: ClientFrame[] = [];
  readonly handlers = new Map<string, Handler>();
  /** How long a query of the application takes when it is first asked. */
  queryMs = 0;
  /** What the application's queries answer, by subscription id. */
  readonly #answers = new Map<string, unknown>();
  timeline = "7311-1";
  heartbeat = 15;
  /** How many rows a subscription begins with, and after how many it begins anew. */
  page = 50;
  maxMissed = 500;
  /** Decides about a token: a user id, null for anonymous, "refuse". */
  judge: (token: string | undefined) => string | null = () => null;
  /** While true, nothing is answered. */
  silent = false;
  connections = 0;

  private constructor(server?: WebSocketServer) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server?.address() as AddressInfo | undefined)?.port ?? 0}`;
    server?.on("connection", (socket) => {
      const line = this.accept(socket);
      socket.on("close", () => line.gone());
      socket.on("message", (data) => line.receive(String(data)));
    });
    this.handlers.set("agents:agentMessages", ({ key, before, limit }) => {
      const rows = this.#thread(key as string).rows.map(({ row }) => row);
      return rows.filter(({ seq }) => seq < Number(before)).slice(-Number(limit ?? 50));
    });
  }

  static async start(port = 0): Promise<TestGateway> {
    const server = new WebSocketServer({ port, host: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    return new TestGateway(server);
  }

  /** A gateway that only `accept` brings lines to. */
  static inMemory(): TestGateway {
    return new TestGateway();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  /** Take a line that somebody has opened. */
  accept(socket: Wire): Accepted {
    this.connections += 1;
    const line: Line = { socket, subscriptions: new Map() };
    this.lines.add(line);
    return {
      receive: (text) => this.#receive(line, JSON.parse(text) as ClientFrame),
      gone: () => this.lines.delete(line),
    };
  }

  /** Commit rows and a thread in one version, and push both; rows first, as promised. */
  commit(key: string, rows: readonly Message[], view?: ThreadView | null): void {
    const thread = this.#thread(key);
    thread.version += 1;
    for (const row of rows) {
      thread.rows = thread.rows.filter((one) => one.row.id !== row.id);
      thread.rows.push({ version: thread.version, row });
      if (row.role === "assistant") thread.live.clear();
    }
    thread.rows.sort((a, b) => a.row.seq - b.row.seq);
    if (view !== undefined) thread.view = view;
    for (const line of this.lines) {
      for (const one of line.subscriptions.values()) {
        if (one.args?.["key"] !== key) continue;
        if (one.query === "agents:agentMessages" && rows.length > 0) this.#delta(line, one, rows);
      }
      for (const one of line.subscriptions.values()) {
        if (one.args?.["key"] !== key || view === undefined) continue;
        if (one.query === "agents:agentThread") this.#snapshot(line, one, thread.view);
      }
    }
  }

  /** Set the synced state of a thread, and push it. */
  setState(key: string, state: unknown): void {
    const thread = this.#thread(key);
    thread.version += 1;
    thread.state = state;
    for (const line of this.lines) {
      for (const one of line.subscriptions.values()) {
        if (one.query !== "agents:agentState" || one.args?.["key"] !== key) continue;
        this.#snapshot(line, one, state);
      }
    }
  }

  /** Let a query of the application answer something else, and push it. */
  answer(id: string, value: unknown): void {
    this.#answers.set(id, value);
    for (const line of this.lines) {
      const one = line.subscriptions.get(id);
      if (one !== undefined) this.#snapshot(line, one, value);
    }
  }

  /** Let all that is sent in this turn of the event loop arrive in one read. */
  together(): void {
    for (const { socket } of this.lines) {
      const { _socket } = socket as unknown as { _socket: Socket };
      _socket.cork();
      setImmediate(() => _socket.uncork());
    }
  }

  /** Say something that is not stored yet. */
  token(key: string, said: Omit<Token, "id" | "type">): void {
    const id = `${said.run}:${said.turn}:${said.part}`;
    const { live } = this.#thread(key);
    const before = said.offset === 0 ? "" : (live.get(id)?.text ?? "");
    live.set(id, { type: "token", id, ...said, offset: 0, text: before + said.text });
    this.#toWatchers(key, (one) => ({ type: "token", id: one, ...said }));
  }

  /** Send a frame as it is to every watcher of a thread's messages. */
  raw(key: string, frame: (id: string) => ServerFrame): void {
    this.#toWatchers(key, frame);
  }

  broadcast(frame: ServerFrame): void {
    for (const line of this.lines) this.#send(line, frame);
  }

  /** End every connection without a word. */
  cut(): void {
    for (const line of this.lines) line.socket.terminate();
  }

  /** The frames of one type that came. */
  got<Type extends ClientFrame["type"]>(type: Type): Extract<ClientFrame, { type: Type }>[] {
    return this.received.filter(
      (frame): frame is Extract<ClientFrame, { type: Type }> => frame.type === type,
    );
  }

  get subscriptions(): string[] {
    return [...this.lines].flatMap((line) => [...line.subscriptions.keys()]).sort();
  }

  #receive(line: Line, frame: ClientFrame): void {
    this.received.push(frame);
    if (this.silent) return;
    switch (frame.type) {
      case "hello":
      case "auth":
        this.#greet(line, frame.token);
        break;
      case "subscribe":
        this.#subscribe(line, frame);
        break;
      case "unsubscribe":
        line.subscriptions.delete(frame.id);
        break;
      case "call":
        this.#call(line, frame);
        break;
      case "ping":
        this.#send(line, { type: "pong" });
        break;
    }
  }

  #greet(line: Line, token: string | undefined): void {
    const user = this.judge(token);
    if (user === "refuse") {
      this.#send(line, { type: "error", code: "UNAUTHENTICATED", message: "the token is no good" });
      return;
    }
    const identity = user === null ? null : { userId: user, roles: [] };
    this.#send(line, { type: "welcome", session: "s", identity, heartbeat: this.heartbeat });
  }

  #subscribe(line: Line, frame: Subscribe): void {
    if (line.subscriptions.has(frame.id)) {
      this.#send(line, {
        type: "error",
        id: frame.id,
        code: "INVALID_ARGUMENT",
        message: "the id is in use",
      });
      return;
    }
    const one = { ...frame, sent: frame.cursor ?? "" };
    const thread = this.#thread(frame.args?.["key"] as string);
    line.subscriptions.set(frame.id, one);
    const [timeline, version] = frame.cursor?.split(".") ?? [];
    if (frame.query === "agents:agentThread") {
      this.#snapshot(line, one, thread.view);
    } else if (frame.query === "agents:agentState") {
      this.#snapshot(line, one, thread.state);
    } else if (frame.query !== "agents:agentMessages") {
      const answer = () =>
        this.#snapshot(line, one, this.#answers.get(frame.id) ?? { query: frame.query });
      if (this.queryMs > 0) setTimeout(answer, this.queryMs);
      else answer();
    } else {
      const missed = thread.rows.filter((row) => row.version > Number(version));
      if (timeline === this.timeline && missed.length <= this.maxMissed) {
        this.#delta(
          line,
          one,
          missed.map(({ row }) => row),
        );
      } else {
        this.#snapshot(line, one, thread.rows.map(({ row }) => row).slice(-this.page));
      }
      if (frame.args?.["stream"] === false) return;
      for (const said of thread.live.values()) this.#send(line, { ...said, id: frame.id });
    }
  }

  #call(line: Line, { id, fn, args = {}, dedupe }: Call): void {
    const handler = this.handlers.get(fn);
    try {
      if (handler === undefined) throw new Refusal("NOT_FOUND", `no function ${fn}`);
      const known = dedupe !== undefined && this.#answered.has(dedupe);
      const frame = { type: "call", id, fn, args, ...(dedupe && { dedupe }) } as const;
      const value = known ? this.#answered.get(dedupe) : handler({ ...args }, frame);
      if (dedupe !== undefined) this.#answered.set(dedupe, value);
      Promise.resolve(value).then(
        (result) => this.#send(line, { type: "result", id, value: result ?? null }),
        (error) => this.#refuse(line, id, error),
      );
    } catch (error) {
      this.#refuse(line, id, error);
    }
  }

  #refuse(line: Line, id: string, error: unknown): void {
    const { code, message, data } = error as Refusal;
    const frame = { type: "error", id, code, message } as const;
    this.#send(line, data === undefined ? frame : { ...frame, data });
  }

  #delta(line: Line, one: { id: string; sent: string }, rows: readonly Message[]): void {
    // The key of the thread is in the id; the version is the thread's.
    const from = one.sent;
    one.sent = this.#cursorOf(line, one.id);
    this.#send(line, {
      type: "delta",
      id: one.id,
      from,
      cursor: one.sent,
      ops: rows.map((row) => ({ op: "upsert", row })),
    });
  }

  #snapshot(line: Line, one: { id: string; sent: string }, value: unknown): void {
    one.sent = this.#cursorOf(line, one.id);
    this.#send(line, { type: "snapshot", id: one.id, cursor: one.sent, value });
  }

  #cursorOf(line: Line, id: string): string {
    const key = line.subscriptions.get(id)?.args?.["key"] as string;
    return `${this.timeline}.${this.#thread(key).version}`;
  }

  #toWatchers(key: string, frame: (id: string) => ServerFrame): void {
    for (const line of this.lines) {
      for (const one of line.subscriptions.values()) {
        const streams = one.query === "agents:agentMessages" && one.args?.["stream"] !== false;
        if (streams && one.args?.["key"] === key) this.#send(line, frame(one.id));
      }
    }
  }

  #send(line: Line, frame: ServerFrame): void {
    line.socket.send(JSON.stringify(frame));
  }

  #thread(key: string): Thread {
    const known = this.#threads.get(key);
    if (known !== undefined) return known;
    const thread = { version: 0, rows: [], view: null, live: new Map(), state: null };
    this.#threads.set(key, thread);
    return thread;
  }
}

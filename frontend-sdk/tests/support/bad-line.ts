/** A line on TCP that breaks at a chosen byte, and brings what it brings late and in pieces. */

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export interface Weather {
  /** After so many bytes of what the server sends the line breaks. */
  readonly cutAt?: number;
  /** Bytes arrive so many at a time. */
  readonly piece?: number;
  readonly delayMs?: number;
}

export class BadLine {
  readonly url: string;
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  /** What the server has sent over each line. */
  readonly received: number[] = [];
  /** Of the lines that are opened from now on. */
  weather: Weather = {};

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("connection", (client) => this.#open(client, this.weather));
  }

  static async to(url: string): Promise<BadLine> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    return new BadLine(server, Number(new URL(url).port));
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #open(client: Socket, { cutAt = Number.POSITIVE_INFINITY, piece = 1e9, delayMs = 0 }: Weather) {
    const server = connect({ port: this.#target, host: "127.0.0.1", noDelay: true });
    const line = this.received.push(0) - 1;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.pipe(server);
    let late = Promise.resolve();
    server.on("data", (data) => {
      late = late.then(async () => {
        if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
        for (let at = 0; at < data.length; at += piece) {
          const room = cutAt - (this.received[line] ?? 0);
          const some = data.subarray(at, Math.min(at + piece, at + room));
          this.received[line] = (this.received[line] ?? 0) + some.length;
          client.write(some);
          if (some.length === room) {
            client.end();
            server.destroy();
            return;
          }
        }
      });
    });
  }
}

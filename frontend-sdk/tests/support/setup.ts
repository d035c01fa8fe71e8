/** A gateway and clients of it, for one test. */

import { afterEach } from "vitest";
import { WebSocket } from "ws";
import {
  type Chat,
  type ChatClient,
  type ChatState,
  type ClientOptions,
  createClient,
  defineApi,
  ref,
  type SocketConstructor,
} from "../../src/core/index.js";
import { TestGateway } from "./gateway.js";

/** What a small application declares; the chat in `apps/` does the same. */
export const api = defineApi({
  chat: {
    startRun: ref<{ input: string; threadKey: string; mode?: string }, { id: string }>(
      "chat:startRun",
    ),
    cancelRun: ref<{ threadKey: string; runId: string }, { cancelled: boolean }>("chat:cancelRun"),
  },
});

export const CALLS = { run: api.chat.startRun };

const open: { close?(): void; stop?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) {
    one.close?.();
    await one.stop?.();
  }
});

export async function startGateway(port?: number): Promise<TestGateway> {
  const gateway = await TestGateway.start(port);
  open.push(gateway);
  return gateway;
}

/** A client whose pauses are short: chance is 0, timers run `speed` times as fast. */
export function connect(
  gateway: TestGateway,
  options: ClientOptions & { readonly speed?: number } = {},
): ChatClient {
  const { speed = 1, ...rest } = options;
  const client = createClient({
    url: gateway.url,
    WebSocket: WebSocket as unknown as SocketConstructor,
    ...rest,
    environment: {
      random: () => 0,
      now: () => performance.now() * speed,
      after(ms, then) {
        const timer = setTimeout(then, ms / speed);
        return () => clearTimeout(timer);
      },
      ...rest.environment,
    },
  });
  open.push(client);
  return client;
}

/** Watch a chat and keep every state it was in. */
export function record(chat: Chat): { readonly frames: ChatState[]; readonly stop: () => void } {
  const frames: ChatState[] = [chat.state.get()];
  const stop = chat.state.subscribe(() => frames.push(chat.state.get()));
  return { frames, stop };
}

/** What a person would see standing in the chat, one entry a bubble. */
export function bubbles(state: ChatState): string[] {
  return [
    ...state.messages.map((message) => message.text),
    ...state.live.map((turn) => `${turn.run}:${turn.turn}...`),
  ];
}

/** Cut the line and return in the very step in which the client hears of it, before it is back. */
export async function cutOff(gateway: TestGateway, client: ChatClient): Promise<void> {
  await new Promise<void>((resolve) => {
    const stop = client.connection.subscribe(() => {
      if (client.connection.get().name === "open") return;
      stop();
      resolve();
    });
    gateway.cut();
  });
}

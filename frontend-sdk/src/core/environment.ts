/** What the core needs of the outside. Every part can be replaced; none is a DOM node. */

/** The part of `WebSocket` that is used. */
export interface Socket {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketConstructor = new (url: string, protocol: string) => Socket;

export interface Environment {
  open(url: string, protocol: string): Socket;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** In [0, 1). */
  random(): number;
  /** A new id, unguessable where the platform allows. */
  id(): string;
  /** Call `then` once after `ms`; returns the function that takes it back. */
  after(ms: number, then: () => void): () => void;
  /** Call `listener` when the machine may have slept or the network came back. */
  onWake(listener: () => void): () => void;
}

interface Events {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** Return the platform's own environment, with `overrides` laid over it. */
export function platform(overrides: Partial<Environment> = {}): Environment {
  return {
    open(url, protocol) {
      const { WebSocket } = globalThis as { WebSocket?: unknown };
      if (WebSocket === undefined) {
        throw new Error("there is no WebSocket here: hand one to createClient({ WebSocket })");
      }
      return new (WebSocket as SocketConstructor)(url, protocol);
    },
    now: () => performance.now(),
    random: Math.random,
    id: newId,
    after(ms, then) {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
    onWake(listener) {
      const stops = [
        listen(globalThis as Events, "online", listener),
        listen((globalThis as { document?: Events }).document, "visibilitychange", listener),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
    ...overrides,
  };
}

function listen(target: Events | undefined, type: string, listener: () => void): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}

function newId(): string {
  // Missing on pages without TLS and in some runtimes; these ids need no secrecy, only rarity.
  const { crypto } = globalThis as { crypto?: { randomUUID?: () => string } };
  if (crypto?.randomUUID !== undefined) return crypto.randomUUID();
  const random = () => Math.random().toString(36).slice(2);
  return `${Date.now().toString(36)}-${random()}${random()}`;
}

/** What a client, a call and a mutation can be told. */

import type { TokenSource } from "./connection.js";
import type { Environment, SocketConstructor } from "./environment.js";
import type { LocalStore } from "./layers.js";
import type { SocketSharing } from "./shared-tabs.js";
import type { ClientSnapshot } from "./snapshot.js";

export interface ClientOptions {
  /** The gateway, as `https://chat.example.com`; by default the page's own origin. */
  readonly url?: string;
  /** A token, or a function that gets one; asked on every connect. Default: anonymous. */
  readonly token?: TokenSource;
  /** What the page was rendered with, as `preload` returned it: shown in the first frame. */
  readonly snapshot?: ClientSnapshot;
  /** `sharedTabs()`: one socket for all tabs of a browser. Default: one for each. */
  readonly tabs?: SocketSharing;
  /** For runtimes that have none of their own. */
  readonly WebSocket?: SocketConstructor;
  /** Replaces clock, timers, chance; for tests. */
  readonly environment?: Partial<Environment>;
}

export interface CallOptions {
  /** The key under which a repeated call has one effect. Default: a fresh one. */
  readonly dedupe?: string;
}

export interface MutateOptions extends CallOptions {
  /**
   * What the mutation will change, shown until its effect is there. Pure: it runs again over
   * each new value of the server's. If it throws at once, nothing is sent.
   */
  readonly optimistic?: ((local: LocalStore) => void) | undefined;
}

export interface MutationOptions<Args> {
  /** As in `MutateOptions`, for each call with its arguments. */
  readonly optimistic?: ((local: LocalStore, args: Args) => void) | undefined;
}

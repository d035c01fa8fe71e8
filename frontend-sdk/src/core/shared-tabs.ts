/**
 * All tabs of a browser on one socket: `createClient({ tabs: sharedTabs() })`.
 *
 * The core notices nothing: what it gets is a socket like any other.  It breaks when the tab that
 * held the real one is closed; then all resume from their cursors and send again what has no
 * answer, as after every cut.  Whose socket is whose, see `tab-hub.ts`; which tab holds it,
 * `tab-membership.ts`.  Nothing else of the core needs this, so who does not share does not load it.
 */

import type { Environment } from "./environment.js";
import { Membership, type TabPlatform } from "./tab-membership.js";

/** Returns how to open sockets, given how it is done without sharing. */
export type SocketSharing = (environment: Environment) => Environment["open"];

/**
 * Share one socket among all tabs of a person and a server.
 *
 * Where there are no locks or no channels between tabs, or they are refused, each has a socket of
 * its own.
 */
export function sharedTabs(platform: Partial<TabPlatform> = {}): SocketSharing {
  const {
    locks = (globalThis as { navigator?: Partial<TabPlatform> }).navigator?.locks,
    BroadcastChannel = globalThis.BroadcastChannel,
  } = platform;
  return (environment) => {
    if (locks === undefined || BroadcastChannel === undefined) return environment.open;
    let member: Membership | undefined;
    return (url, protocol) => {
      const open = () => environment.open(url, protocol);
      if (member === undefined || member.over) {
        const name = `${protocol} ${url}`;
        try {
          member = new Membership(name, open, environment, { locks, BroadcastChannel });
        } catch {
          // There are no channels for this page: storage is partitioned, or blocked.
          return open();
        }
      }
      return member.open();
    };
  };
}

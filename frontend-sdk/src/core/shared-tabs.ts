/**
 * All tabs of a browser on one socket: `createClient({ tabs: sharedTabs() })`.
 *
 * The core notices nothing: what it gets is a socket like any other.  It breaks when the tab that
 * held the real one is closed; then all resume from their cursors and send again what has no
 * answer, as after every cut.  Whose socket is whose, see `tab-hub.ts`; which tab holds it,
 * `tab-membership.ts`.  Nothing else of the core needs this, so who does not share does not load it.
 */

import type { Environment } from "./environment.js";
import { type Locks, Membership, type TabPlatform } from "./tab-membership.js";

/** Returns how to open sockets, given how it is done without sharing. */
export type SocketSharing = (environment: Environment) => Environment["open"];

/**
 * Share one socket among all tabs of a person and a server.
 *
 * Where there are no locks or no channels between tabs, each has a socket of its own.
 */
export function sharedTabs(platform: Partial<TabPlatform> = {}): SocketSharing {
  const {
    locks = (globalThis as { navigator?: { locks?: Locks } }).navigator?.locks,
    BroadcastChannel = globalThis.BroadcastChannel,
  } = platform;
  return (environment) => {
    if (locks === undefined || BroadcastChannel === undefined) return environment.open;
    let member: Membership | undefined;
    return (url, protocol) => {
      if (member === undefined || member.over) {
        const open = () => environment.open(url, protocol);
        member = new Membership(url, open, environment, { locks, BroadcastChannel });
      }
      return member.open();
    };
  };
}

/**
 * `<ropewalk-chat agent="support">`: a whole chat for pages without a framework, and for all others.
 *
 * Importing this registers it.  On a server nothing happens: there are no elements there.
 */

import { RopewalkChatElement } from "./chat-element.js";

const NAME = "ropewalk-chat";

// Two copies of this module on one page share the first one's element.
if (globalThis.customElements?.get(NAME) === undefined) {
  globalThis.customElements?.define(NAME, RopewalkChatElement);
}

declare global {
  interface HTMLElementTagNameMap {
    [NAME]: RopewalkChatElement;
  }
}

export { RopewalkChatElement };

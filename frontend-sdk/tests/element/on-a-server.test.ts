/** Where there are no elements, as in a server's render of a page that imports it, nothing happens. */

import { expect, it } from "vitest";

it("can be imported without a document", async () => {
  expect(globalThis.HTMLElement).toBeUndefined();

  const { RopewalkChatElement } = await import("../../src/element/index.js");

  expect(RopewalkChatElement.observedAttributes).toContain("agent");
});

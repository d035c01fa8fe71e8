/** What the adapters promise whose frameworks let a boundary wait for what is drawn in it. */

import { describe, expect, it } from "vitest";
import { type ChatClient, canonicalId } from "../../src/core/index.js";
import { anOrder } from "../support/orders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";
import { oneOrder } from "./functions-suite.js";

/**
 * Put up a page with one order's `id: article`, in a boundary that shows "waiting" and one that
 * shows the message of an error.
 */
export type ShowOrder = (
  client: ChatClient,
  target: HTMLElement,
  id: string,
) => {
  /** Show another; in a transition if the old one is to stay until that is there. */
  readonly show: (id: string, transition: boolean) => void;
  readonly leave: () => void;
};

const idOf = (id: string) => canonicalId(oneOrder, { id });

export function suspenseContract(name: string, showOrder: ShowOrder): void {
  async function shown(id: string) {
    const gateway = await startGateway();
    for (const one of ["1", "2"]) gateway.answer(idOf(one), anOrder(`tea ${one}`, one));
    const target = document.createElement("div");
    const seen: (string | null)[] = [];
    const observer = new MutationObserver(() => seen.push(visible(target)));
    observer.observe(target, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
    const page = showOrder(connect(gateway, { speed: 10 }), target, id);
    const shows = (text: string) => waitUntil(() => visible(target) === text, `it shows ${text}`);
    return { gateway, target, seen, shows, ...page };
  }

  describe(`${name}: a query that a boundary waits for`, () => {
    it("waits, then shows each value, and lets go", async () => {
      const { gateway, target, shows, leave } = await shown("1");
      expect(visible(target)).toBe("waiting");

      await shows("1: tea 1");
      gateway.answer(idOf("1"), anOrder("jam", "1"));
      await shows("1: jam");
      leave();

      await waitUntil(() => gateway.subscriptions.length === 0, "it is let go");
      expect(gateway.got("subscribe")).toHaveLength(1);
    });

    it("keeps the old one on show in a transition, and never under the key of the new", async () => {
      const { seen, show, shows, leave } = await shown("1");
      await shows("1: tea 1");
      seen.length = 0;

      show("2", true);
      await shows("2: tea 2");

      expect(new Set(seen)).toEqual(new Set(["2: tea 2"]));
      leave();
    });

    it("gives an error to the boundary for errors", async () => {
      const { gateway, shows, show, leave } = await shown("1");
      await shows("1: tea 1");
      gateway.silent = true;

      show("3", false);
      await waitUntil(() => gateway.got("subscribe").length === 2, "it is asked for");
      const refusal = { code: "FORBIDDEN", message: "not yours" } as const;
      gateway.broadcast({ type: "error", id: idOf("3"), ...refusal });

      await shows("not yours");
      leave();
    });

    it("lets go of what it waited for though nobody ever showed it", async () => {
      const { gateway, leave } = await shown("1");

      leave();

      await waitUntil(() => gateway.got("subscribe").length === 1, "it was asked for");
      await waitUntil(() => gateway.lines.size === 0, "it is let go");
    });
  });
}

/** The text of what is not hidden: what a boundary keeps while it waits is not to be seen. */
function visible(node: Node): string {
  if (node instanceof HTMLElement && node.style.display === "none") return "";
  if (node instanceof Text) return node.data;
  return [...node.childNodes].map(visible).join("");
}

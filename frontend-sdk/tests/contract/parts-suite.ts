/**
 * What every adapter promises of a page with many components: that they agree, and that each is
 * drawn again only when what it shows has changed.
 *
 * The page has two components that count the messages, each with a hook of its own; and a chat
 * whose status, messages and text as it is written are drawn by components, which say so.
 */

import { describe, expect, it } from "vitest";
import type { ChatClient } from "../../src/core/index.js";
import { aMessage, aThread } from "../support/builders.js";
import { connect, startGateway } from "../support/setup.js";
import { waitUntil } from "../support/wait-until.js";

export type Part = "status" | "bubble" | "text";

/** Put the page up; returns the function that takes it down. */
export type ShowParts = (
  client: ChatClient,
  target: HTMLElement,
  drawn: (part: Part) => void,
) => () => void;

const SAID = { run: "r-1", turn: 1, part: 0, kind: "text", attempt: 100 } as const;

export function partsContract(name: string, show: ShowParts): void {
  async function shown() {
    const gateway = await startGateway();
    gateway.commit("t-1", [aMessage({ seq: 1 })], aThread());
    const target = document.createElement("div");
    const drawn: Part[] = [];
    const leave = show(connect(gateway), target, (part) => drawn.push(part));
    const counts = () => [...target.querySelectorAll("b")].map((one) => one.textContent);
    const text = () => target.querySelector("q")?.textContent;
    await waitUntil(() => counts().join() === "1,1" && drawn.includes("bubble"), "it is there");
    return { gateway, target, drawn, counts, text, leave };
  }

  describe(`${name}: a page of parts`, () => {
    it("draws nothing again but the text while text comes", async () => {
      const { gateway, drawn, text, leave } = await shown();
      drawn.length = 0;

      const words = "so it goes on and on".split(/(?= )/);
      for (const [index, word] of words.entries()) {
        const before = words.slice(0, index).join("");
        gateway.token("t-1", { ...SAID, offset: before.length, text: word });
        await waitUntil(() => text() === before + word, `${word} is there`);
      }

      expect(new Set(drawn)).toEqual(new Set(["text"]));
      leave();
    });

    it("draws no message again because there is another", async () => {
      const { gateway, drawn, counts, leave } = await shown();
      drawn.length = 0;

      gateway.commit("t-1", [aMessage({ seq: 2 })]);
      await waitUntil(() => counts().join() === "2,2", "the second is there");

      expect(drawn.filter((part) => part === "bubble")).toHaveLength(1);
      leave();
    });

    it("shows the same in two places whenever it can be seen", async () => {
      const { gateway, target, counts, leave } = await shown();
      const seen: string[] = [];
      const observer = new MutationObserver(() => seen.push(counts().join()));
      observer.observe(target, { subtree: true, childList: true, characterData: true });

      for (let seq = 2; seq <= 9; seq += 1) gateway.commit("t-1", [aMessage({ seq })]);
      await waitUntil(() => counts().join() === "9,9", "both have all");

      expect(seen).not.toEqual([]);
      expect(seen.filter((pair) => pair.split(",")[0] !== pair.split(",")[1])).toEqual([]);
      observer.disconnect();
      leave();
    });
  });
}

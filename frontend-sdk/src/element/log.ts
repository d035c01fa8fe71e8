/**
 * What stands in the conversation, each with an element that stays as long as it does: the one that
 * showed the growing text goes on to show the stored message, so nothing jumps and a selection holds.
 */

import { type ChatMessage, type ChatState, type Entry, entriesOf } from "../core/index.js";
import type { Decide } from "./approval.js";
import { attribute, make, type Shown, say } from "./dom.js";
import { type ShownPart, shownPart } from "./parts.js";

/** Silent by itself: `view.ts` says a message aloud when it is whole, not word by word. */
export function messageLog(decide: Decide): Shown<ChatState> {
  const node = make("div", {
    part: "log",
    role: "log",
    "aria-label": "Conversation",
    "aria-live": "off",
  });
  const shown = new Map<string, Shown<Entry>>();
  return {
    node,
    show(state) {
      const entries = entriesOf(state);
      const keys = new Set(entries.map(({ key }) => key));
      for (const [key, one] of shown) {
        if (keys.has(key)) continue;
        one.node.remove();
        shown.delete(key);
      }
      let place = node.firstChild;
      for (const entry of entries) {
        const one = shown.get(entry.key) ?? bubble(decide);
        shown.set(entry.key, one);
        one.show(entry);
        if (one.node === place) place = place.nextSibling;
        else node.insertBefore(one.node, place);
      }
    },
  };
}

function bubble(decide: Decide): Shown<Entry> {
  const note = make("p", { part: "note" });
  const node = make("article", {}, note);
  let before: Entry | undefined;
  let placed: readonly ShownPart[] = [];
  return {
    node,
    show(entry) {
      if (entry === before) return;
      const { parts, role, message, turn } = entry;
      for (const gone of placed.slice(parts.length)) gone.node.remove();
      placed = parts.map((part, index) => {
        const old = placed[index];
        const was = before?.parts[index];
        const isSame = old && was?.type === part.type;
        const one = isSame ? old : shownPart(part.type, decide);
        if (!isSame) {
          note.before(one.node);
          old?.node.replaceWith(one.node);
        }
        if (part !== was) one.show(part, turn !== undefined);
        return one;
      });
      before = entry;
      say(note, message && noteOn(message));
      attribute(node, "part", `message ${role}${turn ? " writing" : ""}`);
      attribute(node, "aria-label", `${NAMES[role]}${turn ? ", writing" : ""}`);
      attribute(node, "data-message-id", message?.id);
    },
  };
}

const NAMES: Record<Entry["role"], string> = {
  user: "You",
  assistant: "Assistant",
  tool: "Tool",
  system: "Note",
};

function noteOn({ waiting, status }: ChatMessage): string | undefined {
  if (status === "interrupted") return "Cut off here.";
  return waiting && `Waits, number ${waiting.position} in line`;
}

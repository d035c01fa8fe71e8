/**
 * The messages, each with an element that stays while the message does: the one that showed the
 * growing text goes on to show the stored message, so nothing jumps and a selection holds.
 */

import type { ChatMessage, ChatState, LiveTurn, PendingApproval } from "../core/index.js";
import type { Decide } from "./approval.js";
import { attribute, make, type Shown, say } from "./dom.js";
import { type Entry, entriesOf } from "./entries.js";
import { type AnyPart, kindOf, type ShownPart, shownPart } from "./parts.js";
import { toolCard } from "./tool-card.js";

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
        const { key, of } = entry;
        const one = shown.get(key) ?? ("inputHash" in of ? asked(decide) : message(decide));
        shown.set(key, one);
        one.show(entry);
        if (one.node === place) place = place.nextSibling;
        else node.insertBefore(one.node, place);
      }
    },
  };
}

/** A call that waits for a person and whose message is not here. */
function asked(decide: Decide): Shown<Entry> {
  const { node, show } = toolCard(decide);
  return {
    node,
    show({ of }) {
      const approval = of as PendingApproval;
      show({ name: approval.name, input: approval.input, approval });
    },
  };
}

interface Placed extends ShownPart {
  readonly part: AnyPart;
}

function message(decide: Decide): Shown<Entry> {
  const note = make("p", { part: "note" });
  const node = make("article", {}, note);
  let placed: readonly Placed[] = [];
  const place = (part: AnyPart, old: Placed | undefined, around: Entry): Placed => {
    const kind = kindOf(part);
    const isSame = old && kindOf(old.part) === kind;
    const one = isSame ? old : shownPart(part, decide);
    if (!isSame) {
      note.before(one.node);
      old?.node.replaceWith(one.node);
    }
    // A call that did not change may still have got a result, or a question.
    if (old?.part !== part || kind === "tool_call") one.show(part, around);
    return { ...one, part };
  };
  return {
    node,
    show(entry) {
      const of = entry.of as ChatMessage | LiveTurn;
      const stored = "role" in of ? of : undefined;
      for (const gone of placed.slice(of.parts.length)) gone.node.remove();
      placed = of.parts.map((part, index) => place(part, placed[index], entry));
      say(note, stored && noteOn(stored));
      attribute(node, "part", `message ${stored?.role ?? "assistant writing"}`);
      attribute(node, "aria-label", stored ? NAMES[stored.role] : "Assistant, writing");
      attribute(node, "data-message-id", stored?.id);
    },
  };
}

const NAMES: Record<ChatMessage["role"], string> = {
  user: "You",
  assistant: "Assistant",
  tool: "Tool",
  system: "Note",
};

function noteOn({ waiting, status }: ChatMessage): string | undefined {
  if (status === "interrupted") return "Cut off here.";
  return waiting && `Waits, number ${waiting.position} in line`;
}

/**
 * Where a person writes. Enter sends, Shift+Enter begins a line; while a run is on, it can be
 * stopped, and one may write on. What could not be sent comes back.
 */

import type { AgentChatActions } from "../core/index.js";
import { button, make, type Shown } from "./dom.js";

interface Composer extends Shown<boolean> {
  readonly area: HTMLTextAreaElement;
}

export function composer({ send, cancel }: Pick<AgentChatActions, "send" | "cancel">): Composer {
  const submit = async (event: Event) => {
    event.preventDefault();
    const text = area.value.trim();
    if (text === "") return;
    area.value = "";
    try {
      await send(text);
    } catch {
      // The state says why. What was written comes back, unless something new was begun.
      area.value ||= text;
    }
  };
  const area = make("textarea", {
    part: "input",
    rows: 1,
    enterkeyhint: "send",
    "aria-label": "Message",
    keydown(event: KeyboardEvent) {
      // Enter that ends a composition (Japanese, Chinese ...) is not ours; Safari tells of it
      // when the composition is over, under this code.
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter" && !event.shiftKey) void submit(event);
    },
  });
  const stop = button("stop", "Stop", () => {
    area.focus();
    // Refused, the run is still there, and so is the button.
    cancel().catch(() => {});
  });
  const go = make("button", { type: "submit", part: "button send" }, "Send");
  return {
    node: make("form", { part: "composer", submit }, area, stop, go),
    area,
    show(busy) {
      stop.hidden = !busy;
    },
  };
}

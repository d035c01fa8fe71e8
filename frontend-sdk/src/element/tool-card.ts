/** A tool call: what it was asked, where it stands, a person's decision, and what came of it. */

import type { EntryCall } from "../core/index.js";
import { approvalForm, type Decide } from "./approval.js";
import { attribute, make, readable, type Shown, say } from "./dom.js";

const STATES: Record<EntryCall["state"], string> = {
  waiting: "Needs approval",
  running: "Running",
  done: "Done",
  failed: "Failed",
  interrupted: "Interrupted",
};

export function toolCard(decide: Decide): Shown<EntryCall> {
  const title = make("p", { part: "tool-header" });
  const input = make("pre", { part: "arguments" });
  const result = make("pre", { part: "result" });
  const node = make("div", { role: "group", tabindex: -1 }, title, input, result);
  let asked: string | undefined;
  let form: ReturnType<typeof approvalForm> | undefined;
  return {
    node,
    show(call) {
      const { name, state, approval, answer } = call;
      if (asked !== approval?.id) {
        // Who was in the form stays at the card that it was of.
        if (form?.hasFocus()) node.focus({ preventScroll: true });
        form?.node.remove();
        form = approval && approvalForm(approval, decide);
        if (form) input.after(form.node);
      }
      asked = approval?.id;
      say(title, `${name}: ${STATES[state]}`);
      say(input, readable(call.input));
      say(result, answer && readable(answer.output));
      attribute(result, "data-message-id", call.result?.id);
      attribute(node, "part", `tool ${state}`);
      attribute(node, "aria-label", `Tool ${name}: ${STATES[state]}`);
    },
  };
}

/** A tool call: what it was asked, where it stands, a person's decision, and what came of it. */

import type { ChatMessage, PendingApproval, ToolResultPart } from "../core/index.js";
import { approvalForm, type Decide } from "./approval.js";
import { attribute, make, readable, type Shown, say } from "./dom.js";

export interface Call {
  readonly name: string;
  readonly input: unknown;
  /** The message with the result; open while the tool runs. */
  readonly result?: ChatMessage | undefined;
  /** There while it waits for a person. */
  readonly approval?: PendingApproval | undefined;
}

export function toolCard(decide: Decide): Shown<Call> {
  const title = make("p", { part: "tool-header" });
  const input = make("pre", { part: "arguments" });
  const result = make("pre", { part: "result" });
  const node = make("div", { role: "group", tabindex: -1 }, title, input, result);
  let shown: Partial<Call> = {};
  let form: ReturnType<typeof approvalForm> | undefined;
  return {
    node,
    show(call) {
      const before = shown;
      shown = call;
      if (before.input !== call.input) input.textContent = readable(call.input);
      if (before.approval?.id !== call.approval?.id) {
        // Who was in the form stays at the card that it was of.
        if (form?.hasFocus()) node.focus({ preventScroll: true });
        form?.node.remove();
        form = call.approval && approvalForm(call.approval, decide);
        if (form) input.after(form.node);
      }
      if (before.result !== call.result || !before.name) {
        const answer = answerOf(call.result);
        result.hidden = !answer;
        say(result, answer && readable(answer.output));
        attribute(result, "data-message-id", call.result?.id);
      }
      const [word, kind] = stateOf(call);
      say(title, `${call.name}: ${word}`);
      attribute(node, "part", `tool ${kind}`);
      attribute(node, "aria-label", `Tool ${call.name}: ${word}`);
    },
  };
}

/** Return the result, if there is one yet. */
function answerOf(message: ChatMessage | undefined): ToolResultPart | undefined {
  return message?.status === "open"
    ? undefined
    : message?.parts.find((part) => part.type === "tool_result");
}

function stateOf({ result, approval }: Call): readonly [word: string, kind: string] {
  if (approval) return ["Needs approval", "waiting"];
  if (!result || result.status === "open") return ["Running", "running"];
  const isBad = result.status !== "complete" || answerOf(result)?.isError;
  return isBad ? ["Failed", "failed"] : ["Done", "done"];
}

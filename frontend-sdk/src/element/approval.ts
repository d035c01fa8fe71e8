/**
 * The deciding of one call: approve, reject with a reason, or approve with other arguments.
 *
 * Laws: what a person opened has the focus, and what he left gives it back; while a decision is on
 * its way there is no second one; refused, it says why and can be made again.
 */

import type { AgentChatActions, PendingApproval } from "../core/index.js";
import { attribute, button, make, readable, sentence } from "./dom.js";

export type Decide = Pick<AgentChatActions, "approve" | "reject" | "edit">;

interface ApprovalForm {
  readonly node: HTMLElement;
  readonly hasFocus: () => boolean;
}

export function approvalForm(approval: PendingApproval, decide: Decide): ApprovalForm {
  const act = async (decision: Promise<void>) => {
    const buttons = node.querySelectorAll("button");
    const enable = (on: boolean) => {
      for (const one of buttons) one.disabled = !on;
    };
    trouble.textContent = "";
    // A button that is disabled would lose the focus to the page.
    node.focus({ preventScroll: true });
    enable(false);
    try {
      await decision;
    } catch (thrown) {
      trouble.textContent = sentence(thrown);
      enable(true);
    }
  };
  const open = (by: HTMLElement) => {
    opener = by;
    const edits = by === edit;
    area.value = edits ? readable(approval.input) : "";
    attribute(area, "aria-label", edits ? "Arguments, as JSON" : "Reason, if you like");
    confirm.textContent = edits ? "Approve with changes" : "Reject";
    turn(true);
    area.focus();
  };
  const turn = (isOpen: boolean) => {
    choices.hidden = isOpen;
    answer.hidden = !isOpen;
    trouble.textContent = "";
  };
  const leave = () => {
    turn(false);
    opener.focus();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (opener === reject) {
      void act(decide.reject(approval, area.value.trim()));
      return;
    }
    const input = argumentsIn(area.value);
    if (typeof input === "string") trouble.textContent = input;
    else void act(decide.edit(approval, input));
  };
  const keydown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    leave();
  };

  const approve = button("approve", "Approve", () => void act(decide.approve(approval)));
  const reject = button("reject", "Reject…", () => open(reject));
  const edit = button("edit", "Edit…", () => open(edit));
  let opener: HTMLElement = reject;
  const choices = make("p", { part: "choices" }, approve, reject);
  if (approval.editable) choices.append(edit);
  const area = make("textarea", { part: "field", spellcheck: "false" });
  const confirm = make("button", { type: "submit", part: "button confirm" });
  const buttons = make("p", { part: "choices" }, confirm, button("back", "Back", leave));
  const answer = make("form", { part: "answer", submit, keydown }, area, buttons);
  const trouble = make("p", { part: "trouble", role: "alert" });
  const node = make("div", { part: "approval", tabindex: -1 }, choices, answer, trouble);
  turn(false);
  const hasFocus = () => node.contains((node.getRootNode() as ShadowRoot).activeElement);
  return { node, hasFocus };
}

/** Return the arguments that a text stands for, or a sentence that says why it stands for none. */
function argumentsIn(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Readonly<Record<string, unknown>>;
    }
    return 'The arguments are an object: { "name": value, … }';
  } catch (thrown) {
    return `This is no JSON: ${sentence(thrown)}`;
  }
}

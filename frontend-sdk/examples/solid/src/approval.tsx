/** The deciding of one call: approve, reject with a reason, or approve with other arguments. */

import type { PendingApproval } from "ropewalk";
import { createSignal, Show } from "solid-js";
import type { Chat } from "./message.js";
import { argumentsIn, readable } from "./words.js";

interface ApprovalProps {
  readonly approval: PendingApproval;
  readonly chat: Chat;
}

export function Approval(props: ApprovalProps) {
  const [answering, setAnswering] = createSignal<"reject" | "edit">();
  const [text, setText] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  const [trouble, setTrouble] = createSignal("");

  const open = (how: "reject" | "edit") => {
    setText(how === "edit" ? readable(props.approval.input) : "");
    setTrouble("");
    setAnswering(how);
  };
  const decide = async (decision: () => Promise<void>) => {
    setBusy(true);
    try {
      await decision();
    } catch (thrown) {
      setTrouble(thrown instanceof Error ? thrown.message : String(thrown));
      setBusy(false);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const { approval, chat } = props;
    void decide(async () => {
      if (answering() === "reject") await chat.reject(approval, text().trim());
      else await chat.edit(approval, argumentsIn(text()));
    });
  };
  const choices = () => (
    <p class="choices">
      <button
        type="button"
        class="primary"
        disabled={busy()}
        onClick={() => void decide(() => props.chat.approve(props.approval))}
      >
        Approve
      </button>
      <button type="button" disabled={busy()} onClick={() => open("reject")}>
        Reject…
      </button>
      <Show when={props.approval.editable}>
        <button type="button" disabled={busy()} onClick={() => open("edit")}>
          Edit…
        </button>
      </Show>
    </p>
  );
  return (
    <div class="approval">
      <Show when={answering()} fallback={choices()}>
        {(how) => (
          <form onSubmit={submit}>
            <textarea
              ref={(area) => queueMicrotask(() => area.focus())}
              rows={how() === "edit" ? 5 : 2}
              aria-label={how() === "edit" ? "Arguments, as JSON" : "Reason, if you like"}
              value={text()}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <p class="choices">
              <button type="submit" class="primary" disabled={busy()}>
                {how() === "edit" ? "Approve with changes" : "Reject"}
              </button>
              <button type="button" onClick={() => setAnswering(undefined)}>
                Back
              </button>
            </p>
          </form>
        )}
      </Show>
      <Show when={trouble()}>
        <p class="error" role="alert">
          {trouble()}
        </p>
      </Show>
    </div>
  );
}

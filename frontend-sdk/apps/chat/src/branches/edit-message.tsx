/** A message of the user's as a field. Enter sends it again, Escape leaves it as it was. */

import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
import type { ChatMessage } from "ropewalk";
import { escapes } from "../approvals/escapes.js";
import { type Draft, useBranching } from "./branching.js";

interface SaidProps {
  readonly message: ChatMessage;
  readonly children: ReactNode;
}

/** What the user said, or the field in its place. */
export function Said({ message, children }: SaidProps): ReactNode {
  const draft = useBranching()?.draft;
  return draft?.messageId === message.id ? <EditMessage draft={draft} /> : children;
}

function EditMessage({ draft }: { readonly draft: Draft }): ReactNode {
  const branching = useBranching();
  const field = useRef<HTMLTextAreaElement>(null);
  const { messageId, text } = draft;
  const empty = text.trim() === "";

  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(-1, -1);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the text that makes it grow.
  useLayoutEffect(() => {
    const area = field.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);

  const back = () => {
    if (branching === undefined) return;
    branching.left.current = messageId;
    branching.setDraft(undefined);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!empty) branching?.resend({ messageId, text: text.trim() });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends a composition (Japanese, Chinese ...) is not ours.
    // Safari ends a composition before its Enter, and says so by this code alone.
    const composes = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || composes) return;
    submit(event);
  };
  return (
    <form className="edit" data-testid="edit-form" onSubmit={submit} onKeyDown={escapes(back)}>
      <textarea
        ref={field}
        rows={1}
        value={text}
        data-testid="edit-field"
        aria-label="Your message"
        enterKeyHint="send"
        onChange={(event) => branching?.setDraft({ messageId, text: event.target.value })}
        onKeyDown={onKeyDown}
      />
      <div className="choices">
        <button type="button" data-testid="edit-back" onClick={back}>
          Cancel
        </button>
        <button type="submit" className="primary" data-testid="edit-send" disabled={empty}>
          Send
        </button>
      </div>
    </form>
  );
}

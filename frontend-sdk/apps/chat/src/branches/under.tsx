/** What stands under a message: its versions, and what can be done to it. */

import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Alternatives, ChatMessage } from "ropewalk";
import { Icon } from "../icons.js";
import { type Direction, useBranching } from "./branching.js";
import { useMore } from "./more.js";

export function Under({ message }: { readonly message: ChatMessage }): ReactNode {
  const branching = useBranching();
  const more = useMore();
  const { id, role, text } = message;
  if (message.optimistic || branching?.draft?.messageId === id) return null;
  const ways = branching?.ways.get(id);
  return (
    <div className="under">
      {branching?.last === id && (
        <button
          type="button"
          className="quiet"
          data-testid="regenerate"
          onClick={() => branching.regenerate(id)}
        >
          <Icon name="again" />
          <span>Regenerate</span>
        </button>
      )}
      {role === "assistant" && text !== "" && <Copy text={text} />}
      {branching?.editable.has(id) && <Edit message={message} />}
      {more?.(message)}
      {ways && <Versions seq={message.seq} ways={ways} />}
    </div>
  );
}

function Edit({ message: { id, text } }: { readonly message: ChatMessage }): ReactNode {
  const branching = useBranching();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (branching?.left.current !== id) return;
    branching.left.current = null;
    button.current?.focus();
  });
  return (
    <button
      ref={button}
      type="button"
      className="quiet shy"
      data-testid="edit-message"
      onClick={() => branching?.setDraft({ messageId: id, text })}
    >
      <Icon name="pen" />
      <span>Edit</span>
    </button>
  );
}

interface VersionsProps {
  readonly seq: number;
  readonly ways: Alternatives;
}

function Versions({ seq, ways }: VersionsProps): ReactNode {
  const { index, count, keys } = ways;
  const at = { seq, shown: keys[index] };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <div
      className="versions"
      role="group"
      aria-label={`Version ${index + 1} of ${count}`}
      data-testid="versions"
    >
      <Step {...at} direction="back" to={keys[index - 1]} />
      <span data-testid="version">
        {index + 1}/{count}
      </span>
      <Step {...at} direction="on" to={keys[index + 1]} />
    </div>
  );
}

interface StepProps {
  readonly seq: number;
  readonly shown: string | undefined;
  readonly direction: Direction;
  readonly to: string | undefined;
}

function Step({ seq, shown, direction, to }: StepProps): ReactNode {
  const branching = useBranching();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const asked = branching?.asked.current;
    if (!asked || asked.key !== shown || asked.seq !== seq || asked.direction !== direction) return;
    branching.asked.current = null;
    button.current?.focus();
  });
  return (
    <button
      ref={button}
      type="button"
      className="quiet"
      data-testid={direction === "back" ? "version-back" : "version-on"}
      aria-label={direction === "back" ? "Previous version" : "Next version"}
      // At the end it keeps the focus, and does nothing.
      aria-disabled={to === undefined}
      onClick={() => to !== undefined && branching?.select({ key: to, seq, direction })}
    >
      <Icon name={direction === "back" ? "left" : "right"} />
    </button>
  );
}

function Copy({ text }: { readonly text: string }): ReactNode {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className="quiet shy copy" onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} />
      <span>{copied ? "Copied" : "Copy"}</span>
    </button>
  );
}

/**
 * Where a person writes. Enter sends, Shift+Enter begins a line; while a run is on, it can be stopped.
 *
 * One may write on while it works: what a busy agent does with it is the agent's to say, and
 * what it refuses comes back.
 */

import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useState,
} from "react";
import { useDeciding } from "./approvals/deciding.js";
import { useAskForNotices } from "./approvals/use-notices.js";
import { Icon } from "./icons.js";

interface ComposerProps {
  readonly busy: boolean;
  readonly send: (text: string) => Promise<unknown>;
  readonly stop: () => Promise<void>;
  readonly input: RefObject<HTMLTextAreaElement | null>;
  /** Text that is put here from outside, as an example is. */
  readonly draft: string;
  readonly setDraft: (text: string) => void;
}

const HINT = "composer-hint";

export function Composer({ busy, send, stop, input, draft, setDraft }: ComposerProps): ReactNode {
  const [stopping, setStopping] = useState(false);
  const waits = useDeciding().waiting > 0;
  const empty = draft.trim() === "";

  useLayoutEffect(() => {
    const area = input.current;
    if (area === null) return;
    // Grown by what is in it; the style sheet says how far.
    area.style.height = "auto";
    area.style.height = draft === "" ? "" : `${area.scrollHeight}px`;
  }, [input, draft]);

  useEffect(() => {
    if (!busy) setStopping(false);
  }, [busy]);

  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (empty) return;
    const text = draft.trim();
    setDraft("");
    try {
      await send(text);
    } catch {
      // The page shows why; what was written comes back, unless something new was begun.
      if (input.current?.value === "") setDraft(text);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends a composition (Japanese, Chinese ...) is not ours.
    // Safari ends a composition before its Enter, and says so by this code alone.
    const composes = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key !== "Enter" || event.shiftKey || composes) return;
    event.preventDefault();
    void submit();
  };
  const halt = async () => {
    setStopping(true);
    try {
      await stop();
    } catch {
      setStopping(false);
    }
  };

  return (
    <>
      <form className="composer" onSubmit={(event) => void submit(event)}>
        <textarea
          ref={input}
          rows={1}
          value={draft}
          data-testid="composer"
          aria-label="Message"
          aria-describedby={waits ? HINT : undefined}
          placeholder="Ask anything"
          enterKeyHint="send"
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {busy && (
          <button
            type="button"
            className="round stop"
            data-testid="stop"
            aria-label="Stop"
            title="Stop"
            disabled={stopping}
            onClick={() => void halt()}
          >
            <Icon name="stop" />
          </button>
        )}
        {!(busy && empty) && (
          <button
            type="submit"
            className="round"
            data-testid="send"
            aria-label="Send"
            title="Send"
            disabled={empty}
          >
            <Icon name="up" />
          </button>
        )}
      </form>
      {waits && <Hint />}
    </>
  );
}

/** A message is never taken for an answer to a card. */
function Hint(): ReactNode {
  const ask = useAskForNotices();
  return (
    <div className="hint" data-testid="hint">
      <p id={HINT}>What you write does not decide what waits: its card does.</p>
      {ask && (
        <button type="button" className="quiet" data-testid="ask-for-notices" onClick={ask}>
          Notify me
        </button>
      )}
    </div>
  );
}

/** What one of them said: text, thoughts, calls and files; and what can be done about it. */

import { memo } from "react";
import type { AgentChatActions, Alternatives, Entry, EntryCall, EntryPart } from "ropewalk";
import { Approval } from "./approval.js";
import { isWeb, labelOf, noteOn, quietly, readable, stateWord } from "./words.js";

export type Actions = Pick<
  AgentChatActions,
  "approve" | "reject" | "edit" | "regenerate" | "selectBranch"
>;

interface MessageProps {
  readonly entry: Entry;
  /** Where the conversation has gone on in other ways, too. */
  readonly ways: Alternatives | undefined;
  readonly isLast: boolean;
  readonly actions: Actions;
}

/** Drawn again when it changes itself: an entry is the same object as long as nothing in it does. */
export const Message = memo(function Message({ entry, ways, isLast, actions }: MessageProps) {
  const { role, message, parts } = entry;
  const note = noteOn(message);
  return (
    <article className={role} aria-label={labelOf(entry)} data-message-id={message?.id}>
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never move.
        <Shown key={index} part={part} actions={actions} />
      ))}
      {note && <p className="note">{note}</p>}
      {isLast && role === "assistant" && (
        <button type="button" onClick={() => quietly(actions.regenerate(message?.id))}>
          Regenerate
        </button>
      )}
      {ways && <Versions ways={ways} select={actions.selectBranch} />}
    </article>
  );
});

interface VersionsProps {
  readonly ways: Alternatives;
  readonly select: Actions["selectBranch"];
}

function Versions({ ways: { keys, index, count }, select }: VersionsProps) {
  return (
    <p className="ways">
      {[-1, 1].map((step) => (
        <button
          key={step}
          type="button"
          aria-label={step < 0 ? "Previous version" : "Next version"}
          disabled={keys[index + step] === undefined}
          onClick={() => quietly(select(keys[index + step] ?? ""))}
        >
          {step < 0 ? "‹" : "›"}
        </button>
      ))}
      <span>{`${index + 1} of ${count}`}</span>
    </p>
  );
}

function Shown({ part, actions }: { readonly part: EntryPart; readonly actions: Actions }) {
  switch (part.type) {
    case "text":
      return <p className="text">{part.text}</p>;
    case "thinking":
      return (
        <details>
          <summary>Thinking</summary>
          <p className="text">{part.text}</p>
        </details>
      );
    case "draft":
      return <pre>{part.text}</pre>;
    case "call":
      return <ToolCard call={part} actions={actions} />;
    case "tool_result":
      return <pre>{readable(part.output)}</pre>;
    case "data":
      return <pre>{readable(part.value)}</pre>;
    case "file": {
      const { url, mediaType, name = mediaType } = part;
      if (!isWeb(url)) return <p>{name}</p>;
      if (mediaType.startsWith("image/")) return <img src={url} alt={name} />;
      return (
        <a href={url} target="_blank" rel="noreferrer">
          {name}
        </a>
      );
    }
  }
}

function ToolCard({ call, actions }: { readonly call: EntryCall; readonly actions: Actions }) {
  const { name, input, approval, result, answer } = call;
  const state = stateWord(call);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <div className="tool" role="group" aria-label={`Tool ${name}: ${state}`}>
      <p>
        <code>{name}</code> {state}
      </p>
      <pre>{readable(input)}</pre>
      {approval && <Approval key={approval.id} approval={approval} actions={actions} />}
      {result && <pre data-message-id={result.id}>{answer && readable(answer.output)}</pre>}
    </div>
  );
}

/**
 * One entry of the chat, stored or still being written.
 *
 * One component for both, so that the element that showed the growing text goes on to
 * show the stored message: nothing jumps, a selection stays.
 */

import { memo, type ReactNode } from "react";
import type { ChatMessage, Entry, EntryPart, LivePart, LiveTurn, WaitingSend } from "ropewalk";
import { Said } from "./branches/edit-message.js";
import { Under } from "./branches/under.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";
import { ToolCard } from "./tool-card.js";

interface EntryProps {
  readonly entry: Entry;
}

export const EntryView = memo(function EntryView({ entry: { message, turn, parts } }: EntryProps) {
  if (turn) return <Written turn={turn} />;
  return message && <Stored message={message} parts={parts} />;
});

function Written({ turn }: { readonly turn: LiveTurn }): ReactNode {
  return (
    <article
      className="message assistant live"
      data-testid="streaming"
      data-role="assistant"
      aria-label="Assistant, writing"
    >
      {turn.parts.map((part) => (
        <WrittenPart key={part.part} part={part} />
      ))}
    </article>
  );
}

interface StoredProps {
  readonly message: ChatMessage;
  readonly parts: readonly EntryPart[];
}

function Stored({ message, parts }: StoredProps): ReactNode {
  return (
    <article
      className={`message ${message.role}${message.optimistic ? " optimistic" : ""}`}
      data-position={message.waiting?.position}
      data-testid="message"
      data-role={message.role}
      data-message-id={message.id}
      data-status={message.status}
      data-optimistic={message.optimistic}
      aria-label={message.role === "user" ? "You" : "Assistant"}
    >
      <Said message={message}>
        {parts.map((part, index) => (
          <StoredPart
            // biome-ignore lint/suspicious/noArrayIndexKey: a stored message's parts never move.
            key={index}
            part={part}
            role={message.role}
          />
        ))}
      </Said>
      {message.waiting && (
        <p className="note" data-testid="waiting">
          {placeOf(message.waiting)}
        </p>
      )}
      {message.status === "interrupted" && <p className="note">Cut off here.</p>}
      {message.role !== "tool" && <Under message={message} />}
    </article>
  );
}

function placeOf({ kind, position }: WaitingSend): string {
  if (kind === "signal") return "Read before the next step";
  return position === 1 ? "Next in line" : `Number ${position} in line`;
}

interface PartProps {
  readonly part: EntryPart;
  readonly role: ChatMessage["role"];
}

function StoredPart({ part, role }: PartProps): ReactNode {
  switch (part.type) {
    case "text":
      return role === "user" ? <p className="text">{part.text}</p> : <Markdown text={part.text} />;
    case "thinking":
      return <Thinking text={part.text} />;
    case "call":
      return <ToolCard call={part} />;
    case "draft":
      return <PreparedCall text={part.text} />;
    case "tool_result":
      return (
        <pre className="text">
          {part.name}: {JSON.stringify(part.output ?? null)}
        </pre>
      );
    case "file":
      // Its address comes from whoever wrote the message.
      if (!/^https?:/i.test(part.url)) return <p className="text">{part.name ?? part.mediaType}</p>;
      return part.mediaType.startsWith("image/") ? (
        <img className="file" src={part.url} alt={part.name ?? "Attached file"} />
      ) : (
        <a href={part.url}>{part.name ?? part.url}</a>
      );
    case "data":
      return <pre className="text">{JSON.stringify(part.value, null, 2)}</pre>;
  }
}

function WrittenPart({ part }: { readonly part: LivePart }): ReactNode {
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} />;
    case "thinking":
      return <Thinking text={part.text} open />;
    case "tool_args":
      return <PreparedCall text={part.text} />;
  }
}

function Thinking(props: { readonly text: string; readonly open?: boolean }): ReactNode {
  const { text, open = false } = props;
  return (
    <details className="thinking" data-testid="thinking" open={open}>
      <summary>
        <Icon name="thought" />
        {open ? "Thinking" : "Thought"}
      </summary>
      <p>{text}</p>
    </details>
  );
}

/** The arguments of a call as the model writes them; only their end is of interest. */
function PreparedCall({ text }: { readonly text: string }): ReactNode {
  return (
    <section className="card running" data-testid="tool-draft">
      <header>
        <Icon name="tool" />
        <span className="name">Preparing a tool call</span>
        <span className="progress">
          <span className="spinner" aria-hidden="true" />
        </span>
      </header>
      <pre className="draft">{text.slice(-400)}</pre>
    </section>
  );
}

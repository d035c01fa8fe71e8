/** A bubble: its pieces, and what can be done about it. */

import type { AgentChat } from "ropewalk/react";
import { Approval } from "./approval.js";
import type { api } from "./backend.js";
import { type Bubble, type Call, type Piece, quietly, readable } from "./bubbles.js";

export type Chat = AgentChat<typeof api.agents.agentRun>;

interface MessageProps {
  readonly bubble: Bubble;
  readonly chat: Chat;
}

export function Message({ bubble, chat }: MessageProps) {
  const { role, label, messageId, pieces, note, ways, again } = bubble;
  return (
    <article className={role} aria-label={label} data-message-id={messageId}>
      {pieces.map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a message never move.
        <Shown key={index} piece={piece} chat={chat} />
      ))}
      {note && <p className="note">{note}</p>}
      {again && (
        <button type="button" onClick={() => quietly(chat.regenerate(messageId))}>
          Regenerate
        </button>
      )}
      {ways && (
        <p className="ways">
          {[-1, 1].map((step) => (
            <button
              key={step}
              type="button"
              aria-label={step < 0 ? "Previous version" : "Next version"}
              disabled={ways.keys[ways.index + step] === undefined}
              onClick={() => quietly(chat.selectBranch(ways.keys[ways.index + step] ?? ""))}
            >
              {step < 0 ? "‹" : "›"}
            </button>
          ))}
          <span>{`${ways.index + 1} of ${ways.count}`}</span>
        </p>
      )}
    </article>
  );
}

function Shown({ piece, chat }: { readonly piece: Piece; readonly chat: Chat }) {
  switch (piece.type) {
    case "text":
      return <p className="text">{piece.text}</p>;
    case "thinking":
      return (
        <details>
          <summary>Thinking</summary>
          <p className="text">{piece.text}</p>
        </details>
      );
    case "draft":
    case "data":
      return <pre>{piece.text}</pre>;
    case "image":
      return <img src={piece.url} alt={piece.name} />;
    case "link":
      return (
        <a href={piece.url} target="_blank" rel="noreferrer">
          {piece.name}
        </a>
      );
    case "call":
      return <ToolCard call={piece} chat={chat} />;
  }
}

function ToolCard({ call, chat }: { readonly call: Call; readonly chat: Chat }) {
  const { name, input, state, approval, result } = call;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <div className="tool" role="group" aria-label={`Tool ${name}: ${state}`}>
      <p>
        <code>{name}</code> {state}
      </p>
      <pre>{readable(input)}</pre>
      {approval && <Approval key={approval.id} approval={approval} chat={chat} />}
      {result && <pre data-message-id={result.messageId}>{result.text}</pre>}
    </div>
  );
}

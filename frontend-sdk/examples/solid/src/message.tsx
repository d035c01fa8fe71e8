/** A bubble: its pieces, and what can be done about it. */

import type { AgentChat } from "ropewalk/solid";
import { For, Index, Match, Show, Switch } from "solid-js";
import { Approval } from "./approval.js";
import type { api } from "./backend.js";
import { type Bubble, type Call, type Piece, quietly, readable } from "./bubbles.js";

export type Chat = AgentChat<typeof api.agents.agentRun>;

interface MessageProps {
  readonly bubble: Bubble;
  readonly chat: Chat;
}

export function Message(props: MessageProps) {
  return (
    <article
      class={props.bubble.role}
      aria-label={props.bubble.label}
      data-message-id={props.bubble.messageId}
    >
      <Index each={props.bubble.pieces}>
        {(piece) => <Shown piece={piece()} chat={props.chat} />}
      </Index>
      <Show when={props.bubble.note}>{(note) => <p class="note">{note()}</p>}</Show>
      <Show when={props.bubble.again}>
        <button
          type="button"
          onClick={() => quietly(props.chat.regenerate(props.bubble.messageId))}
        >
          Regenerate
        </button>
      </Show>
      <Show when={props.bubble.ways}>
        {(ways) => (
          <p class="ways">
            <For each={[-1, 1]}>
              {(step) => (
                <button
                  type="button"
                  aria-label={step < 0 ? "Previous version" : "Next version"}
                  disabled={ways().keys[ways().index + step] === undefined}
                  onClick={() =>
                    quietly(props.chat.selectBranch(ways().keys[ways().index + step] ?? ""))
                  }
                >
                  {step < 0 ? "‹" : "›"}
                </button>
              )}
            </For>
            <span>{`${ways().index + 1} of ${ways().count}`}</span>
          </p>
        )}
      </Show>
    </article>
  );
}

/** Return the piece if it is of one of these types. */
function only<Type extends Piece["type"]>(piece: Piece, ...types: Type[]) {
  const isOne = types.some((type) => type === piece.type);
  return isOne ? (piece as Piece & { type: Type }) : undefined;
}

function Shown(props: { readonly piece: Piece; readonly chat: Chat }) {
  return (
    <Switch>
      <Match when={only(props.piece, "text")}>
        {(piece) => <p class="text">{piece().text}</p>}
      </Match>
      <Match when={only(props.piece, "thinking")}>
        {(piece) => (
          <details>
            <summary>Thinking</summary>
            <p class="text">{piece().text}</p>
          </details>
        )}
      </Match>
      <Match when={only(props.piece, "call")}>
        {(call) => <ToolCard call={call()} chat={props.chat} />}
      </Match>
      <Match when={only(props.piece, "image")}>
        {(piece) => <img src={piece().url} alt={piece().name} />}
      </Match>
      <Match when={only(props.piece, "link")}>
        {(piece) => (
          <a href={piece().url} target="_blank" rel="noreferrer">
            {piece().name}
          </a>
        )}
      </Match>
      <Match when={only(props.piece, "draft", "data")}>
        {(piece) => <pre>{piece().text}</pre>}
      </Match>
    </Switch>
  );
}

function ToolCard(props: { readonly call: Call; readonly chat: Chat }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <div class="tool" role="group" aria-label={`Tool ${props.call.name}: ${props.call.state}`}>
      <p>
        <code>{props.call.name}</code> {props.call.state}
      </p>
      <pre>{readable(props.call.input)}</pre>
      <Show when={props.call.approval?.id} keyed>
        <Show when={props.call.approval}>
          {(approval) => <Approval approval={approval()} chat={props.chat} />}
        </Show>
      </Show>
      <Show when={props.call.result}>
        {(result) => <pre data-message-id={result().messageId}>{result().text}</pre>}
      </Show>
    </div>
  );
}

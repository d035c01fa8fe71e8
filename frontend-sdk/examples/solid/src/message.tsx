/** What one of them said: text, thoughts, calls and files; and what can be done about it. */

import type { Entry, EntryCall, EntryPart } from "ropewalk";
import type { AgentChat } from "ropewalk/solid";
import { createMemo, For, Index, Match, Show, Switch } from "solid-js";
import { Approval } from "./approval.js";
import type { api } from "./backend.js";
import { isLast, isWeb, labelOf, noteOn, quietly, readable, stateWord } from "./words.js";

export type Chat = AgentChat<typeof api.agents.agentRun>;

interface MessageProps {
  readonly entry: Entry;
  readonly chat: Chat;
}

export function Message(props: MessageProps) {
  const id = () => props.entry.message?.id;
  const ways = createMemo(() => props.chat.branches.find(({ messageId }) => messageId === id()));
  return (
    <article class={props.entry.role} aria-label={labelOf(props.entry)} data-message-id={id()}>
      <Index each={props.entry.parts}>{(part) => <Shown part={part()} chat={props.chat} />}</Index>
      <Show when={noteOn(props.entry.message)}>{(note) => <p class="note">{note()}</p>}</Show>
      <Show when={props.entry.role === "assistant" && isLast(props.entry, props.chat)}>
        <button type="button" onClick={() => quietly(props.chat.regenerate(id()))}>
          Regenerate
        </button>
      </Show>
      <Show when={ways()}>
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

/** Return the part if it is of this type. */
function only<Type extends EntryPart["type"]>(part: EntryPart, type: Type) {
  return part.type === type ? (part as Extract<EntryPart, { readonly type: Type }>) : undefined;
}

function Shown(props: { readonly part: EntryPart; readonly chat: Chat }) {
  return (
    <Switch>
      <Match when={only(props.part, "text")}>{(part) => <p class="text">{part().text}</p>}</Match>
      <Match when={only(props.part, "thinking")}>
        {(part) => (
          <details>
            <summary>Thinking</summary>
            <p class="text">{part().text}</p>
          </details>
        )}
      </Match>
      <Match when={only(props.part, "draft")}>{(part) => <pre>{part().text}</pre>}</Match>
      <Match when={only(props.part, "call")}>
        {(call) => <ToolCard call={call()} chat={props.chat} />}
      </Match>
      <Match when={only(props.part, "tool_result")}>
        {(part) => <pre>{readable(part().output)}</pre>}
      </Match>
      <Match when={only(props.part, "data")}>{(part) => <pre>{readable(part().value)}</pre>}</Match>
      <Match when={only(props.part, "file")}>{(part) => <File {...part()} />}</Match>
    </Switch>
  );
}

function File(props: Extract<EntryPart, { readonly type: "file" }>) {
  const name = () => props.name ?? props.mediaType;
  return (
    <Show when={isWeb(props.url)} fallback={<p>{name()}</p>}>
      <Show
        when={props.mediaType.startsWith("image/")}
        fallback={
          <a href={props.url} target="_blank" rel="noreferrer">
            {name()}
          </a>
        }
      >
        <img src={props.url} alt={name()} />
      </Show>
    </Show>
  );
}

function ToolCard(props: { readonly call: EntryCall; readonly chat: Chat }) {
  const state = () => stateWord(props.call);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for a form.
    <div class="tool" role="group" aria-label={`Tool ${props.call.name}: ${state()}`}>
      <p>
        <code>{props.call.name}</code> {state()}
      </p>
      <pre>{readable(props.call.input)}</pre>
      <Show when={props.call.approval?.id} keyed>
        <Show when={props.call.approval}>
          {(approval) => <Approval approval={approval()} chat={props.chat} />}
        </Show>
      </Show>
      <Show when={props.call.result}>
        {(result) => (
          <pre data-message-id={result().id}>
            {props.call.answer && readable(props.call.answer.output)}
          </pre>
        )}
      </Show>
    </div>
  );
}

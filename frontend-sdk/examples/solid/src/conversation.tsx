/** One conversation: what was said, what is being said, and what one can say to it. */

import { type Entry, entriesOf, isBusy } from "ropewalk";
import { createAgentChat, createConnection } from "ropewalk/solid";
import { createMemo, createSignal, For, Show } from "solid-js";
import { AGENT, api } from "./backend.js";
import { Message } from "./message.js";
import { keep } from "./threads.js";
import { isSending, quietly, statusWord } from "./words.js";

export function Conversation(props: { readonly threadKey: string }) {
  const chat = createAgentChat(api, () => ({
    threadKey: props.threadKey,
    run: api.agents.agentRun,
    cancel: api.agents.agentCancel,
    runArgs: { agent: AGENT },
  }));
  const connection = createConnection();
  // By key: an element stays as long as its entry does, however often that changes.
  const entries = createMemo(() => new Map(entriesOf(chat).map((one) => [one.key, one])));
  const title = () => chat.thread?.title ?? chat.messages[0]?.text ?? "New conversation";

  const send = (text: string) => {
    keep(props.threadKey, text);
    return chat.send(text);
  };
  return (
    <main>
      <header>
        <h1>{title()}</h1>
        <p role="status" data-status={chat.status}>
          {statusWord(chat.status)}
        </p>
        <p class="connection" data-connection={connection().name}>
          {connection().name === "open" ? "Connected" : "Connecting…"}
        </p>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keys. */}
      <div class="scroller" tabIndex={0}>
        <div role="log" aria-label="Conversation" aria-busy={chat.live.length > 0}>
          <Show when={chat.hasOlder}>
            <button
              type="button"
              disabled={chat.loadingOlder}
              onClick={() => quietly(chat.loadOlder())}
            >
              Earlier messages
            </button>
          </Show>
          <For each={[...entries().keys()]}>
            {(key) => {
              const entry = createMemo(() => entries().get(key) as Entry);
              return <Message entry={entry()} chat={chat} />;
            }}
          </For>
        </div>
      </div>
      <Show when={chat.error}>
        {(error) => (
          <p class="error" role="alert">
            {error().message}
            <Show when={chat.status === "failed"}>
              <button type="button" onClick={() => quietly(chat.retry())}>
                Try again
              </button>
            </Show>
          </p>
        )}
      </Show>
      <Show when={props.threadKey} keyed>
        <Composer busy={isBusy(chat.status)} send={send} stop={chat.cancel} />
      </Show>
    </main>
  );
}

interface ComposerProps {
  readonly busy: boolean;
  readonly send: (text: string) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

function Composer(props: ComposerProps) {
  const [draft, setDraft] = createSignal("");

  const submit = async (event: Event) => {
    event.preventDefault();
    const text = draft().trim();
    if (text === "") return;
    setDraft("");
    // The chat says why it failed; what was written comes back, unless something new was begun.
    await props.send(text).catch(() => setDraft((now) => now || text));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isSending(event)) void submit(event);
  };
  return (
    <form class="composer" onSubmit={submit}>
      <textarea
        rows={1}
        aria-label="Message"
        placeholder="Ask anything"
        value={draft()}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Show when={props.busy}>
        <button type="button" onClick={() => quietly(props.stop())}>
          Stop
        </button>
      </Show>
      <button type="submit" class="primary">
        Send
      </button>
    </form>
  );
}

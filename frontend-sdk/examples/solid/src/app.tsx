/** The conversations that were begun here, and the one on show. */

import { createReadable } from "ropewalk/solid";
import { For } from "solid-js";
import { Conversation } from "./conversation.js";
import { show, startNew, threads } from "./threads.js";

export function App() {
  const list = createReadable(() => threads);
  return (
    <div class="app">
      <nav aria-label="Conversations">
        <button type="button" onClick={startNew}>
          New conversation
        </button>
        <ul>
          <For each={list().all}>
            {({ key, title }) => (
              <li>
                <button
                  type="button"
                  aria-current={key === list().shown ? "page" : undefined}
                  onClick={() => show(key)}
                >
                  {title}
                </button>
              </li>
            )}
          </For>
        </ul>
      </nav>
      <Conversation threadKey={list().shown} />
    </div>
  );
}

/** The conversations that were begun here, and the one on show. */

import { useReadable } from "ropewalk/react";
import { Conversation } from "./conversation.js";
import { show, startNew, threads } from "./threads.js";

export function App() {
  const { shown, all } = useReadable(threads);
  return (
    <div className="app">
      <nav aria-label="Conversations">
        <button type="button" onClick={startNew}>
          New conversation
        </button>
        <ul>
          {all.map(({ key, title }) => (
            <li key={key}>
              <button
                type="button"
                aria-current={key === shown ? "page" : undefined}
                onClick={() => show(key)}
              >
                {title}
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <Conversation threadKey={shown} />
    </div>
  );
}

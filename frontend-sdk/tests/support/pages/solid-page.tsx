/** @jsxImportSource solid-js */
/** A page in Solid, for servers and browsers. */

import { For, Suspense } from "solid-js";
import type { ChatClient } from "../../../src/core/index.js";
import {
  createAgentChat,
  createAgentState,
  createSuspenseQuery,
  RopewalkProvider,
} from "../../../src/solid/index.js";
import { api, headline, options } from "./options.js";

function Page() {
  const chat = createAgentChat(api, options);
  const view = createAgentState<string>({ api, ...options });
  return (
    <main>
      <h1>{view.state ?? "untitled"}</h1>
      <ul>
        <For each={chat.messages}>{(message) => <li>{message.text}</li>}</For>
      </ul>
      <p>{chat.status}</p>
    </main>
  );
}

export function page(client: ChatClient) {
  return () => (
    <RopewalkProvider client={client}>
      <Page />
    </RopewalkProvider>
  );
}

function Headline() {
  const answer = createSuspenseQuery(headline);
  return <p>{answer()}</p>;
}

/** A page with a part that a boundary waits for. */
export function waitingPage(client: ChatClient) {
  return () => (
    <RopewalkProvider client={client}>
      <main>
        <Suspense fallback="waiting">
          <Headline />
        </Suspense>
      </main>
    </RopewalkProvider>
  );
}

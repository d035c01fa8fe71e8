/** @jsxImportSource solid-js */
/** A page in Solid whose thread changes in a transition, which waits for something else as well. */

import { createResource, createSignal, Suspense, startTransition } from "solid-js";
import { render } from "solid-js/web";
import type { ChatClient } from "../../src/core/index.js";
import { createAgentChat, RopewalkProvider } from "../../src/solid/index.js";
import { api, CALLS } from "./setup.js";

export function showInTransition(client: ChatClient, target: HTMLElement) {
  const [key, setKey] = createSignal("a");
  let arrive = () => {};
  const Chat = () => {
    const chat = createAgentChat(api, () => ({ threadKey: key(), ...CALLS }));
    const [other] = createResource(key, (of) =>
      of === "a" ? of : new Promise<string>((resolve) => (arrive = () => resolve(of))),
    );
    const texts = () => chat.messages.map(({ text }) => text).join();
    return (
      <p>
        {key()} {other()}: {texts()} {chat.streamingText}
      </p>
    );
  };
  const page = () => (
    <RopewalkProvider client={client}>
      <Suspense>
        <Chat />
      </Suspense>
    </RopewalkProvider>
  );
  return {
    leave: render(page, target),
    to: (next: string) => void startTransition(() => setKey(next)),
    arrive: () => arrive(),
  };
}

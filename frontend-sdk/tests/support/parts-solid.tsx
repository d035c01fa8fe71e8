/** @jsxImportSource solid-js */
/** The page of parts, in Solid. */

import { For } from "solid-js";
import { render } from "solid-js/web";
import { createAgentChat, RopewalkProvider } from "../../src/solid/index.js";
import type { Part, ShowParts } from "../contract/parts-suite.js";
import { api, CALLS } from "./setup.js";

export const showParts: ShowParts = (client, target, drawn) => {
  const createChat = () => createAgentChat(api, { threadKey: "t-1", ...CALLS });
  const draw = (part: Part, value: string) => {
    drawn(part);
    return value;
  };
  const Count = () => {
    const chat = createChat();
    return <b>{chat.messages.length}</b>;
  };
  const Chat = () => {
    const chat = createChat();
    return (
      <div>
        {draw("status", chat.status)}
        <For each={chat.messages}>{(message) => draw("bubble", message.text)}</For>
        <q>{draw("text", chat.streamingText)}</q>
      </div>
    );
  };
  const page = () => (
    <RopewalkProvider client={client}>
      <Count />
      <Count />
      <Chat />
    </RopewalkProvider>
  );
  return render(page, target);
};

/** The page of parts, in React. */

import { createElement, memo } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import type { ChatMessage } from "../../src/core/index.js";
import { RopewalkProvider, useAgentChat } from "../../src/react/index.js";
import type { ShowParts } from "../contract/parts-suite.js";
import { api, CALLS } from "./setup.js";

export const showParts: ShowParts = (client, target, drawn) => {
  const useChat = () => useAgentChat(api, { threadKey: "t-1", ...CALLS });
  const Count = () => createElement("b", null, useChat().messages.length);
  const Status = memo(({ status }: { status: string }) => {
    drawn("status");
    return status;
  });
  const Bubble = memo(({ message }: { message: ChatMessage }) => {
    drawn("bubble");
    return message.text;
  });
  const Text = memo(({ text }: { text: string }) => {
    drawn("text");
    return createElement("q", null, text);
  });
  const Chat = () => {
    const { messages, status, streamingText } = useChat();
    const bubbles = messages.map((message) => createElement(Bubble, { key: message.id, message }));
    const text = createElement(Text, { text: streamingText });
    return createElement("div", null, createElement(Status, { status }), bubbles, text);
  };
  const root = createRoot(target);
  const page = createElement(
    RopewalkProvider,
    { client },
    createElement(Count),
    createElement(Count),
    createElement(Chat),
  );
  flushSync(() => root.render(page));
  return () => root.unmount();
};

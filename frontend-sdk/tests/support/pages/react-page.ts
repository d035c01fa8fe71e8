/** A page in React, for servers and browsers. */

import { createElement, Suspense } from "react";
import type { ChatClient } from "../../../src/core/index.js";
import {
  RopewalkProvider,
  useAgentChat,
  useAgentState,
  useSuspenseQuery,
} from "../../../src/react/index.js";
import { api, headline, options } from "./options.js";

function Page() {
  const { messages, status } = useAgentChat(api, options);
  const { state } = useAgentState<string>({ api, ...options });
  const rows = messages.map(({ id, text }) => createElement("li", { key: id }, text));
  return createElement(
    "main",
    null,
    createElement("h1", null, state ?? "untitled"),
    createElement("ul", null, rows),
    createElement("p", null, status),
  );
}

export function page(client: ChatClient) {
  return createElement(RopewalkProvider, { client }, createElement(Page));
}

function Headline() {
  return createElement("p", null, useSuspenseQuery(headline));
}

/** A page with a part that a boundary waits for. */
export function waitingPage(client: ChatClient) {
  const boundary = createElement(Suspense, { fallback: "waiting" }, createElement(Headline));
  return createElement(RopewalkProvider, { client }, createElement("main", null, boundary));
}

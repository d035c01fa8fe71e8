/** A page in React, for servers and browsers. */

import { createElement } from "react";
import type { ChatClient } from "../../../src/core/index.js";
import { RopewalkProvider, useAgentChat, useAgentState } from "../../../src/react/index.js";
import { api, options } from "./options.js";

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

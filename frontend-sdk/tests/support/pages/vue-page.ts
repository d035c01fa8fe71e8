/** A page in Vue, for servers and browsers. */

import { type App, createSSRApp, defineComponent, h } from "vue";
import type { ChatClient } from "../../../src/core/index.js";
import { ropewalk, useAgentChat, useAgentState } from "../../../src/vue/index.js";
import { api, options } from "./options.js";

const Page = defineComponent(() => {
  const { messages, status } = useAgentChat(api, options);
  const { state } = useAgentState<string>({ api, ...options });
  return () =>
    h("main", [
      h("h1", state.value ?? "untitled"),
      h(
        "ul",
        messages.value.map(({ id, text }) => h("li", { key: id }, text)),
      ),
      h("p", status.value),
    ]);
});

export function page(client: ChatClient): App {
  return createSSRApp(Page).use(ropewalk(client));
}

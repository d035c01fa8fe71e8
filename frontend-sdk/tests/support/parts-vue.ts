/** The page of parts, in Vue. */

import { createApp, defineComponent, h } from "vue";
import type { ChatMessage } from "../../src/core/index.js";
import { ropewalk, useAgentChat } from "../../src/vue/index.js";
import type { ShowParts } from "../contract/parts-suite.js";
import { api, CALLS } from "./setup.js";

export const showParts: ShowParts = (client, target, drawn) => {
  const useChat = () => useAgentChat(api, { threadKey: "t-1", ...CALLS });
  const Count = defineComponent(() => {
    const { messages } = useChat();
    return () => h("b", messages.value.length);
  });
  const Bubble = defineComponent(
    (props: { message: ChatMessage }) => () => {
      drawn("bubble");
      return props.message.text;
    },
    { props: ["message"] },
  );
  const Chat = defineComponent(() => {
    const { messages, status, streamingText } = useChat();
    const Status = () => {
      drawn("status");
      return status.value;
    };
    const Text = () => {
      drawn("text");
      return h("q", streamingText.value);
    };
    const bubbles = () => messages.value.map((message) => h(Bubble, { key: message.id, message }));
    return () => h("div", [h(Status), bubbles(), h(Text)]);
  });
  const app = createApp(() => [h(Count), h(Count), h(Chat)]);
  app.use(ropewalk(client)).mount(target);
  return () => app.unmount();
};

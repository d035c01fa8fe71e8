/**
 * A conversation on the page: who speaks, what went wrong, and where a person writes.
 *
 * Laws: what is said aloud is a whole answer, once, and never what was there already; who reads
 * further up is not moved; who is at the end stays there.
 */

import {
  type AgentChatActions,
  type ChatMessage,
  type ChatState,
  type ChatStatus,
  type ConnectionState,
  isBusy,
} from "../core/index.js";
import { composer } from "./composer.js";
import { attribute, button, make, say } from "./dom.js";
import { messageLog } from "./log.js";

/** A reader this near to the end is at it. */
const NEAR_PX = 80;

const WORDS: Partial<Record<ChatStatus, string>> = {
  queued: "Starting",
  running: "Working",
  awaiting_input: "Needs approval",
  failed: "Failed",
  cancelled: "Stopped",
};

export interface ChatView {
  readonly node: HTMLElement;
  readonly show: (state: ChatState, connection: ConnectionState) => void;
  readonly label: (heading: string | null, placeholder: string | null) => void;
  /** Where a person writes. */
  readonly area: HTMLElement;
}

export function chatView(actions: AgentChatActions): ChatView {
  const heading = make("h2", { part: "heading" });
  const status = make("span", { part: "status", role: "status" });
  const older = button("older", "Earlier messages", () => void quietly(actions.loadOlder()));
  const log = messageLog(actions);
  let atEnd = true;
  const scroll = () => {
    atEnd = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
  };
  const scroller = make("div", { part: "scroller", tabindex: 0, scroll }, older, log.node);
  const aloud = make("p", { class: "aloud", "aria-live": "polite" });
  const why = make("span", {});
  const again = button("retry", "Try again", () => void quietly(actions.retry()));
  const error = make("p", { part: "error", role: "alert" }, why, again);
  const send: AgentChatActions["send"] = (text) => {
    atEnd = true;
    return actions.send(text);
  };
  const input = composer({ ...actions, send });
  const header = make("header", { part: "header" }, heading, status);
  const node = make("section", { part: "chat" }, header, scroller, aloud, error, input.node);
  let first: Node | null = null;
  /** The newest answer that needs no saying; undefined until the messages are known. */
  let said: number | undefined;

  const showMessages = (state: ChatState) => {
    const before = scroller.scrollHeight;
    older.hidden = !state.hasOlder;
    older.disabled = state.loadingOlder;
    log.show(state);
    const isPrepended = first !== log.node.firstChild && first?.isConnected;
    first = log.node.firstChild;
    if (atEnd) scroller.scrollTop = scroller.scrollHeight;
    else if (isPrepended) scroller.scrollTop += scroller.scrollHeight - before;
  };
  const sayAloud = (messages: readonly ChatMessage[]) => {
    const whole = messages.filter((one) => one.role === "assistant" && one.status === "complete");
    const news = whole.filter(({ seq }) => seq > (said ?? seq)).map(({ text }) => text);
    // Put anew even if it is the same: that is another answer.
    if (news.length > 0) aloud.textContent = news.join("\n");
    said = whole.at(-1)?.seq ?? 0;
  };

  return {
    node,
    area: input.area,
    show(state, connection) {
      showMessages(state);
      if (state.status !== "loading") sayAloud(state.messages);
      say(status, troubleOf(connection) ?? WORDS[state.status]);
      attribute(node, "data-status", state.status);
      attribute(node, "data-connection", connection.name);
      error.hidden = !state.error;
      say(why, state.error?.message);
      again.hidden = state.status !== "failed";
      input.show(isBusy(state.status));
    },
    label(name, placeholder) {
      say(heading, name ?? "");
      attribute(node, "aria-label", name || "Chat");
      input.area.placeholder = placeholder ?? "";
    },
  };
}

/** Do it; what it may be refused for is shown by the state. */
async function quietly(deed: Promise<unknown>): Promise<void> {
  await deed.catch(() => {});
}

function troubleOf(connection: ConnectionState): string | undefined {
  if (connection.name === "stopped") return "Reload the page";
  if (connection.name !== "waiting") return undefined;
  return connection.error?.code === "UNAUTHENTICATED" ? "Signed out" : "Reconnecting…";
}

/**
 * The element: from its attributes and its place in the page to a client, a chat and a view.
 *
 * Laws: it asks for nothing while it is not in a page, and lets go when it leaves; moved, it goes
 * on; what an attribute changes to is shown before the page is painted, and nothing of what was
 * shown before is seen beside it.
 */

import {
  agents,
  type Chat,
  type ChatClient,
  chatActions,
  createChat,
  createClient,
  type TokenSource,
} from "../core/index.js";
import { styles } from "./styles.js";
import { keptKey } from "./thread-key.js";
import { type ChatView, chatView } from "./view.js";

const NAMES = ["agent", "thread", "url", "token", "heading", "placeholder"] as const;

type GetToken = Extract<TokenSource, (...args: never) => unknown>;

interface OwnClient {
  readonly url: string | null;
  readonly client: ChatClient;
}

// On a server this module may be imported, and nothing more.
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

export class RopewalkChatElement extends Base {
  static readonly observedAttributes = NAMES;
  readonly #root = this.attachShadow({ mode: "open" });
  #given: ChatClient | undefined;
  #own: OwnClient | undefined;
  #getToken: GetToken | undefined;
  #shown: { readonly chat: Chat; readonly client: ChatClient; readonly view: ChatView } | undefined;
  #stop: (() => void) | undefined;
  #settling = false;

  /** A client of the page's own, shared with others. Without one it makes its own of `url` and `token`. */
  get client(): ChatClient | undefined {
    return this.#given;
  }

  set client(client: ChatClient | undefined) {
    this.#given = client;
    this.#changed();
  }

  /** How to get a token; asked on every connect, in place of the attribute. */
  get getToken(): GetToken | undefined {
    return this.#getToken;
  }

  set getToken(getToken: GetToken | undefined) {
    this.#getToken = getToken;
    void this.#own?.client.authenticate();
  }

  /** The key of the conversation on show, whoever has chosen it. */
  get threadKey(): string | undefined {
    return this.#shown?.chat.threadKey;
  }

  /** Begin a new conversation, and keep that in place of the one that this browser had. */
  startNew(): void {
    keptKey(this.#agent, true);
    this.removeAttribute("thread");
    this.#changed();
  }

  /** Go to where one writes. */
  override focus(options?: FocusOptions): void {
    this.#shown?.view.area.focus(options);
  }

  get #agent(): string {
    return this.getAttribute("agent") ?? "";
  }

  connectedCallback(): void {
    this.#root.adoptedStyleSheets = [styles(this.ownerDocument)];
    for (const name of ["client", "getToken"] as const) this.#upgrade(name);
    this.#settle();
  }

  disconnectedCallback(): void {
    this.#letGo();
  }

  attributeChangedCallback(name: string, before: string | null, after: string | null): void {
    if (before === after) return;
    if (name === "token") void this.#own?.client.authenticate();
    this.#changed();
  }

  /** Take a property that was set before this class was there for the element. */
  #upgrade(name: "client" | "getToken"): void {
    if (!Object.hasOwn(this, name)) return;
    const value = this[name];
    delete this[name];
    Object.assign(this, { [name]: value });
  }

  /** Settle once for all that is changed in a row. */
  #changed(): void {
    if (this.#settling) return;
    this.#settling = true;
    queueMicrotask(() => {
      this.#settling = false;
      this.#settle();
    });
  }

  /** Show what the attributes say, if the element is in a page. */
  #settle(): void {
    if (!this.isConnected) return;
    const client = this.#given ?? this.#ownClient();
    if (this.#given) this.#closeOwn();
    const key = this.getAttribute("thread") || keptKey(this.#agent);
    const before = this.#shown;
    if (before?.client !== client || before.chat.threadKey !== key) {
      this.#letGo();
      const chat = createChat(client, key);
      const view = chatView(
        chatActions(
          () => chat,
          () => ({
            threadKey: key,
            run: agents.agentRun,
            runArgs: { agent: this.#agent },
            cancel: agents.agentCancel,
          }),
        ),
      );
      if (before) before.view.node.replaceWith(view.node);
      else this.#root.append(view.node);
      this.#shown = { chat, client, view };
    }
    this.#shown?.view.label(this.getAttribute("heading"), this.getAttribute("placeholder"));
    this.#watch();
  }

  #watch(): void {
    if (this.#stop || !this.#shown) return;
    const { chat, client, view } = this.#shown;
    const draw = () => view.show(chat.state.get(), client.connection.get());
    let frame: number | undefined;
    const later = () => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        draw();
      });
    };
    const stops = [chat.state.subscribe(later), client.connection.subscribe(later)];
    this.#stop = () => {
      for (const stop of stops) stop();
      if (frame !== undefined) cancelAnimationFrame(frame);
    };
    draw();
  }

  #letGo(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #ownClient(): ChatClient {
    const url = this.getAttribute("url");
    if (this.#own?.url !== url) this.#closeOwn();
    this.#own ??= {
      url,
      client: createClient({
        ...(url && { url }),
        token: () => (this.#getToken ? this.#getToken() : this.getAttribute("token")),
      }),
    };
    return this.#own.client;
  }

  #closeOwn(): void {
    this.#own?.client.close();
    this.#own = undefined;
  }
}

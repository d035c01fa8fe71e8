/** Each page as its framework's own server renders it. Loaded by a process that is a server. */

import { renderToString as renderReact } from "react-dom/server";
import { generateHydrationScript, renderToString as renderSolid } from "solid-js/web";
import { render as renderSvelte } from "svelte/server";
import { renderToString as renderVue } from "vue/server-renderer";
import { WebSocket } from "ws";
import {
  type ChatClient,
  type ClientSnapshot,
  createClient,
  type SocketConstructor,
} from "../../../src/core/index.js";
import * as react from "./react-page.js";
import * as solid from "./solid-page.jsx";
import SveltePage from "./svelte-page.svelte";
import * as vue from "./vue-page.js";

export interface Rendered {
  readonly html: string;
  /** The same without a snapshot. */
  readonly empty: string;
  /** Where the connection stands after the rendering. */
  readonly connection: string;
}

const RENDERERS: Record<string, (client: ChatClient) => string | Promise<string>> = {
  React: (client) => renderReact(react.page(client)),
  Vue: (client) => renderVue(vue.page(client)),
  Solid: (client) => generateHydrationScript() + renderSolid(solid.page(client)),
  Svelte: (client) => renderSvelte(SveltePage, { props: { client } }).body,
  "React waiting": (client) => renderReact(react.waitingPage(client)),
  "Solid waiting": (client) => renderSolid(solid.waitingPage(client)),
};

export async function renderAll(
  url: string,
  snapshot: ClientSnapshot,
): Promise<Record<string, Rendered>> {
  const options = { url, WebSocket: WebSocket as unknown as SocketConstructor };
  const rendered: Record<string, Rendered> = {};
  for (const [name, render] of Object.entries(RENDERERS)) {
    const client = createClient({ ...options, snapshot });
    const html = await render(client);
    const connection = client.connection.get().name;
    rendered[name] = { html, empty: await render(createClient(options)), connection };
  }
  return rendered;
}

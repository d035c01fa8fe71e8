/** The element in a page, and what a person finds in it. */

import { afterEach } from "vitest";
import type { ChatClient } from "../../src/core/index.js";
import type { RopewalkChatElement } from "../../src/element/index.js";
import "../../src/element/index.js";

afterEach(() => document.body.replaceChildren());

export type Attributes = Readonly<Record<string, string>>;

/** Put an element into the page. */
export function put(client: ChatClient | undefined, attributes: Attributes): RopewalkChatElement {
  const element = document.createElement("ropewalk-chat");
  if (client) element.client = client;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  document.body.append(element);
  return element;
}

/** Return everything with this `part` in an element or in what it shows, in order. */
export function parts(element: HTMLElement, part: string): HTMLElement[] {
  const inside = element.shadowRoot ?? element;
  return [...inside.querySelectorAll<HTMLElement>(`[part~="${part}"]`)];
}

export function texts(element: HTMLElement, part: string): string[] {
  return parts(element, part).map((one) => one.textContent ?? "");
}

/** Return the only element with this `part`. */
export function the<T extends HTMLElement = HTMLElement>(element: HTMLElement, part: string): T {
  const found = parts(element, part);
  if (found.length !== 1) throw new Error(`${found.length} of ${part}`);
  return found[0] as T;
}

/** Return what a screen reader was last given to say of the messages. */
export function saidAloud(element: HTMLElement): string {
  return element.shadowRoot?.querySelector("[aria-live=polite]")?.textContent ?? "";
}

/** Write and press Enter. */
export function write(element: HTMLElement, text: string): void {
  const area = the<HTMLTextAreaElement>(element, "input");
  area.value = text;
  area.dispatchEvent(
    new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }),
  );
}

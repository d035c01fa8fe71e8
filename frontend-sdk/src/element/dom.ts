/** Elements in one call. Law: children are nodes or text; nothing is ever parsed as HTML. */

export type Attribute = string | number | boolean | undefined | ((event: never) => void);
export type Child = Node | string;

/** Something that stands in the page and is told what it shows. */
export interface Shown<T> {
  readonly node: HTMLElement;
  readonly show: (value: T) => void;
}

/** Make an element; a function among its attributes listens to the event of that name. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, Attribute>>,
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value as EventListener);
    else attribute(node, name, value);
  }
  node.append(...children);
  return node;
}

/** Set an attribute; `false` and undefined take it away. */
export function attribute(
  node: Element,
  name: string,
  value: Exclude<Attribute, (...args: never) => void>,
): void {
  if (value === false || value === undefined) node.removeAttribute(name);
  else node.setAttribute(name, String(value));
}

export function button(part: string, text: string, click: () => void): HTMLButtonElement {
  return make("button", { type: "button", part: `button ${part}`, click }, text);
}

/** Put text where it differs: what says it aloud is not told of the same again. */
export function say(node: Node, text = ""): void {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * A text that mostly grows. What is there is not touched: what is new becomes a text node of its
 * own, so a long answer is neither copied nor laid out again for every word.
 */
export function growing(node: HTMLElement): Shown<string> {
  let shown = "";
  return {
    node,
    show(text) {
      if (text.startsWith(shown)) node.append(text.slice(shown.length));
      else node.textContent = text;
      shown = text;
    },
  };
}

/** Return a value as JSON that a person can read; text as it is. */
export function readable(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2);
}

/** Return what was thrown as a sentence. */
export function sentence(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

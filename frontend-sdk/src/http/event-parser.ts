/**
 * Server-sent events out of text as it comes, in pieces of any size.
 *
 * Pure, and linear: each character is looked at once, however small the pieces. Only what the
 * server uses is read: `data` and `retry`; a frame's cursor is in its data. Source: WHATWG HTML, 9.2.
 */

const BREAK = /\r\n?|\n/g;

export class EventParser {
  /** What the server asks to wait before one comes back. */
  retryMs: number | undefined;
  /** The line that has begun. */
  #line = "";
  /** The text so far ended in a CR, so a LF that comes first belongs to it. */
  #afterReturn = false;
  #data: string[] = [];

  /** Return the data of the events that this text ends. */
  feed(text: string): string[] {
    if (text === "") return [];
    const ended: string[] = [];
    let from = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = text.endsWith("\r");
    BREAK.lastIndex = from;
    for (let found = BREAK.exec(text); found !== null; found = BREAK.exec(text)) {
      this.#take(this.#line + text.slice(from, found.index), ended);
      this.#line = "";
      from = BREAK.lastIndex;
    }
    this.#line += text.slice(from);
    return ended;
  }

  #take(line: string, ended: string[]): void {
    if (line === "") {
      if (this.#data.length > 0) ended.push(this.#data.join("\n"));
      this.#data = [];
      return;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") this.#data.push(value);
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}

/**
 * The small part of Markdown that models write, as elements; never as HTML.
 *
 * Forgiving, because it is drawn while the text is still being written: what is not closed
 * yet stands as it was typed, and an open code block is one already.
 */

import { Fragment, memo, type ReactNode } from "react";

export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const blocks = blocksOf(text);
  return (
    <div className="markdown">
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end.
        <BlockView key={index} {...block} />
      ))}
    </div>
  );
});

/** Plain strings, so that a finished block is never drawn again while the text grows below it. */
interface Block {
  readonly type: "code" | "heading" | "quote" | "bullets" | "numbers" | "paragraph";
  /** The items of a list are its lines. */
  readonly text: string;
  readonly language?: string;
}

const FENCE = /^\s*```(\S*)/;
const HEADING = /^#{1,6}\s+(.*)$/;
const QUOTE = /^>\s?(.*)$/;
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d+[.)]\s+(.*)$/;

function blocksOf(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let at = 0;
  const takeWhile = (pattern: RegExp): string[] => {
    const taken: string[] = [];
    for (let found = pattern.exec(lines[at] ?? ""); found !== null && at < lines.length; ) {
      taken.push(found[1] ?? "");
      at += 1;
      found = pattern.exec(lines[at] ?? "");
    }
    return taken;
  };
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    if (fence !== null) {
      at += 1;
      const code: string[] = [];
      while (at < lines.length && !FENCE.test(lines[at] ?? "")) code.push(lines[at++] ?? "");
      at += 1;
      blocks.push({ type: "code", language: fence[1] ?? "", text: code.join("\n") });
    } else if (HEADING.test(line)) {
      blocks.push({ type: "heading", text: HEADING.exec(line)?.[1] ?? "" });
      at += 1;
    } else if (QUOTE.test(line)) {
      blocks.push({ type: "quote", text: takeWhile(QUOTE).join("\n") });
    } else if (BULLET.test(line)) {
      blocks.push({ type: "bullets", text: takeWhile(BULLET).join("\n") });
    } else if (NUMBER.test(line)) {
      blocks.push({ type: "numbers", text: takeWhile(NUMBER).join("\n") });
    } else if (line.trim() === "") {
      at += 1;
    } else {
      blocks.push({ type: "paragraph", text: takeParagraph() });
    }
  }
  return blocks;

  function takeParagraph(): string {
    const taken: string[] = [];
    const ends = [FENCE, HEADING, QUOTE, BULLET, NUMBER];
    while (at < lines.length) {
      const line = lines[at] ?? "";
      if (line.trim() === "" || (taken.length > 0 && ends.some((end) => end.test(line)))) break;
      taken.push(line);
      at += 1;
    }
    return taken.join("\n");
  }
}

const BlockView = memo(function BlockView({ type, text, language }: Block) {
  switch (type) {
    case "code":
      return (
        <pre data-language={language || undefined}>
          <code>{text}</code>
        </pre>
      );
    case "heading":
      return <h4>{inline(text)}</h4>;
    case "quote":
      return <blockquote>{inline(text)}</blockquote>;
    case "bullets":
      return <ul>{itemsOf(text)}</ul>;
    case "numbers":
      return <ol>{itemsOf(text)}</ol>;
    case "paragraph":
      return <p>{inline(text)}</p>;
  }
});

function itemsOf(text: string): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end.
  return text.split("\n").map((item, index) => <li key={index}>{inline(item)}</li>);
}

const INLINE =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^[\]\n]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?])/g;

function inline(text: string): ReactNode[] {
  const nodes: ReactNode[] = [];
  let last = 0;
  for (const found of text.matchAll(INLINE)) {
    if (found.index > last)
      nodes.push(<Fragment key={last}>{text.slice(last, found.index)}</Fragment>);
    nodes.push(marked(found));
    last = found.index + found[0].length;
  }
  if (last < text.length) nodes.push(<Fragment key={last}>{text.slice(last)}</Fragment>);
  return nodes;
}

function marked(found: RegExpExecArray): ReactNode {
  const [, code, strong, emphasis, label, target, bare] = found;
  if (code !== undefined) return <code key={found.index}>{code}</code>;
  if (strong !== undefined) return <strong key={found.index}>{strong}</strong>;
  if (emphasis !== undefined) return <em key={found.index}>{emphasis}</em>;
  return (
    <a key={found.index} href={target ?? bare} target="_blank" rel="noreferrer noopener">
      {label ?? bare}
    </a>
  );
}

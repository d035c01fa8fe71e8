/**
 * How the element looks by itself.  Light and dark follow the page's own `color-scheme`;
 * `--ropewalk-ink`, `-paper`, `-accent`, `-wait`, `-bad`, `-radius` and `-font` change it, softer
 * colours are mixed of these, and every part can be reached with `::part`.
 */

const CSS = `
:host {
  --ink: var(--ropewalk-ink, light-dark(#1c1b19, #eceae5));
  --paper: var(--ropewalk-paper, light-dark(#fcfbf9, #161615));
  --accent: var(--ropewalk-accent, light-dark(#0f766e, #2dd4bf));
  --wait: var(--ropewalk-wait, light-dark(#8a5300, #f5c563));
  --bad: var(--ropewalk-bad, light-dark(#b42318, #f97066));
  --soft: color-mix(in srgb, var(--ink) 70%, var(--paper));
  --bubble: color-mix(in srgb, var(--ink) 8%, var(--paper));
  --radius: var(--ropewalk-radius, 12px);
  --border: 1px solid color-mix(in srgb, var(--ink) 25%, var(--paper));
  display: block;
  block-size: 32rem;
  border: var(--border);
  border-radius: var(--radius);
  overflow: hidden;
  color: var(--ink);
  background: var(--paper);
  font: var(--ropewalk-font, 1rem/1.5 system-ui, sans-serif);
}
:host([hidden]), [hidden] { display: none !important; }
* { box-sizing: border-box; margin: 0; min-inline-size: 0; font: inherit; }
p:empty, pre:empty { display: none; }
.aloud { display: block; position: absolute; inline-size: 1px; block-size: 1px; clip-path: inset(50%); }
[part=chat], [part=log], [part~=tool], [part=answer], [part=approval] { display: flex; flex-direction: column; gap: .6em; }
[part=chat] { block-size: 100%; gap: 0; position: relative; }
[part=header], [part=composer], [part=choices], [part=error] { display: flex; flex-wrap: wrap; gap: .6em; align-items: end; }
[part=header], [part=composer], [part=error], [part=scroller] { padding: .6em .8em; }
[part=heading] { flex: 1; font-weight: 600; }
[part=status] { display: block; min-block-size: 1lh; }
[part=status], [part=note], [part=thinking] { color: var(--soft); font-size: .85em; }
[part=scroller] { flex: 1; overflow-y: auto; overflow-anchor: none; border-block: var(--border); }
[part~=message] { contain: layout style; overflow-wrap: anywhere; }
[part~=message] > * + * { margin-block-start: .6em; }
[part~=user] { align-self: end; max-inline-size: 85%; padding: .4em .8em; border-radius: var(--radius); background: var(--bubble); }
[part=text], pre { white-space: pre-wrap; }
[part~=tool], textarea, button { padding: .4em .8em; border: var(--border); border-radius: var(--radius); background: none; color: inherit; }
[part~=waiting] { border-color: var(--wait); }
[part~=waiting] [part=tool-header] { color: var(--wait); }
[part~=failed] [part=tool-header], [part=trouble], [part=error] { color: var(--bad); }
img { max-inline-size: 100%; }
pre, [part=field] { font: .85em/1.5 monospace; max-block-size: 16em; overflow: auto; }
a { color: var(--accent); }
textarea { flex: 1; field-sizing: content; inline-size: 100%; max-block-size: 10em; resize: none; }
[part=input] { inline-size: 0; }
::placeholder { color: var(--soft); opacity: 1; }
button { cursor: pointer; }
:disabled { opacity: .6; }
[part~=send], [part~=approve], [part~=confirm] { color: var(--paper); background: var(--accent); }
[part~=older] { display: block; margin: 0 auto .6em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -1px; }
[tabindex="-1"] { outline: 0; }
[part~=writing] > [part=text]::after { content: "▍"; color: var(--accent); }
`;

const sheets = new WeakMap<Document, CSSStyleSheet>();

/**
 * One sheet for all elements of a document; no other takes it, as that of a frame or of a window
 * that an element is moved to. Made by script, so a page's policy on inline styles does not mind it.
 */
export function styles(of: Document): CSSStyleSheet {
  let sheet = sheets.get(of);
  if (sheet === undefined) {
    sheet = new (of.defaultView ?? globalThis).CSSStyleSheet();
    sheet.replaceSync(CSS);
    sheets.set(of, sheet);
  }
  return sheet;
}

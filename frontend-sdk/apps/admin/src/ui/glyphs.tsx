/** Line icons that only this page has, beside those of the chat. */

import type { ReactNode } from "react";

const PATHS = {
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1 2h4l1-2h5",
  runs: "M4 6h8M8 12h9M12 18h8",
  threads: "M5 5h14v10H10l-5 4z",
  agents: "M7 8h10v9H7zM12 8V4M10 12v.01M14 12v.01M4 12v2M20 12v2",
  governance: "M12 4l7 3v5c0 4-3 7-7 8-4-1-7-4-7-8V7zM9 12l2 2 4-4",
  system: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500v.01M8 16.500v.01",
  right: "M9 6l6 6-6 6",
  back: "M15 6l-6 6 6 6",
} as const;

export type GlyphName = keyof typeof PATHS;

export function Glyph({ name }: { readonly name: GlyphName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

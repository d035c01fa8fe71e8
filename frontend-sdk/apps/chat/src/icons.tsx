/** Line icons, drawn here so that the page asks nobody for anything. */

import type { ReactNode } from "react";

const PATHS = {
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  stop: "M7 7h10v10H7z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  alert: "M12 8v5M12 16.5v.01M12 3l9.5 17h-19z",
  box: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  tool: "M14.5 6.5a4 4 0 0 0-5.3 5L4 16.7 7.3 20l5.2-5.2a4 4 0 0 0 5-5.3L15 12l-3-3z",
  hand: "M8 12V6.5a1.5 1.5 0 0 1 3 0V11m0-.5v-5a1.5 1.5 0 0 1 3 0V11m0-3.500a1.5 1.5 0 0 1 3 0V14a6 6 0 0 1-6 6c-3 0-4.2-1.5-5.5-4L4 13.300a1.4 1.4 0 0 1 2.4-1.400L8 14",
  thought:
    "M9 18h6M10 21h4M12 3a6 6 0 0 0-3.5 10.900c.6.5 1 1.2 1 2V16h5v-.1c0-.8.4-1.5 1-2A6 6 0 0 0 12 3z",
  again: "M20 5v5h-5M19.5 10A8 8 0 1 0 20 14",
  pen: "M4 20l1-4L16.500 4.500l3 3L8 19zM14 7l3 3",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  copy: "M9 9h10v10H9zM5 15V5h10",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.900l1.4 1.400M17.7 17.700l1.4 1.400M2 12h2M20 12h2M4.9 19.100l1.4-1.400M17.7 6.300l1.4-1.4",
  moon: "M20 14.500A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.500z",
} as const;

export function Icon({ name }: { readonly name: keyof typeof PATHS }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo(): ReactNode {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <path className="strand" d="M9 4c0 8 14 8 14 16 0 4-3 6-3 8" />
      <path className="strand other" d="M23 4c0 8-14 8-14 16 0 4 3 6 3 8" />
      <path className="strand" d="M9 4c0 4 3.5 6 7 8" />
    </svg>
  );
}

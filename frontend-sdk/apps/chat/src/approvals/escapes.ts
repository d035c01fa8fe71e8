import type { KeyboardEvent } from "react";

/** Return a handler for which Escape means `back`, and nothing to what lies around. */
export function escapes(back: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    back();
  };
}

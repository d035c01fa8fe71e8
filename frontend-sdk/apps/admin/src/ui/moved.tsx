/** Somebody else changed what is being edited here: a person says what becomes of it. */

import type { ReactNode } from "react";
import type { Edited } from "./use-edited.js";

export function Moved({
  edited,
  what,
  who,
}: {
  readonly edited: Pick<Edited<unknown>, "moved" | "take" | "keep">;
  readonly what: string;
  readonly who?: string | null | undefined;
}): ReactNode {
  if (!edited.moved) return null;
  return (
    <div className="callout" role="alert" data-testid="moved">
      <p>
        {who ?? "Somebody"} changed {what} while you were editing. Nothing is saved over it until
        you choose.
      </p>
      <div className="choices">
        <button type="button" data-testid="take-theirs" onClick={edited.take}>
          Show theirs, drop mine
        </button>
        <button type="button" data-testid="keep-mine" onClick={edited.keep}>
          Keep mine, to save over theirs
        </button>
      </div>
    </div>
  );
}

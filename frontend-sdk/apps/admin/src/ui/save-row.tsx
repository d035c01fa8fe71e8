/** Saving what was edited, or taking it back; there only while there is something to save. */

import type { ReactNode } from "react";
import type { Edited } from "./use-edited.js";

interface SaveProps {
  readonly edited: Pick<Edited<unknown>, "changed" | "moved" | "take">;
  readonly busy: boolean;
  readonly trouble: string | undefined;
  readonly testId: string;
  readonly wrong?: boolean;
}

export function SaveRow({ edited, busy, trouble, testId, wrong }: SaveProps): ReactNode {
  return (
    <>
      {edited.changed && (
        <div className="choices">
          <button
            type="submit"
            className="primary small"
            data-testid={testId}
            disabled={busy || edited.moved || wrong === true}
          >
            {busy ? "Saving…" : "Save"}
          </button>
          <button type="button" className="small" disabled={busy} onClick={edited.take}>
            Undo
          </button>
        </div>
      )}
      {trouble !== undefined && (
        <p className="trouble" role="alert" data-testid={`${testId}-trouble`}>
          {trouble}
        </p>
      )}
    </>
  );
}

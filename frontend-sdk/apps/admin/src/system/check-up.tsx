/** Looks for what may not be, and mends it: what `ropewalk doctor` does, from the browser. */

import { type ReactNode, useState } from "react";
import { post } from "../http.js";
import { counted } from "../ui/moments.js";
import { useAct } from "../ui/use-act.js";

interface Finding {
  readonly kind: string;
  readonly sentence: string;
  readonly mended: boolean;
}

interface Found {
  readonly findings: readonly Finding[];
}

export function CheckUp(): ReactNode {
  const { busy, trouble, act } = useAct();
  const [findings, setFindings] = useState<readonly Finding[]>();
  const look = (mend: boolean) =>
    void act(async () => setFindings((await post<Found>("/doctor", { mend })).findings));
  const left = findings?.filter(({ mended }) => !mended) ?? [];
  return (
    <section className="check-up" aria-labelledby="check-up-title" data-testid="check-up">
      <h2 id="check-up-title">Repair</h2>
      <p className="soft">
        Looks for workers that died unnoticed, runs that nobody continues, timers that are overdue
        and keys that were left behind. It takes some ten seconds, because it watches who moves.
      </p>
      <div className="choices">
        <button type="button" data-testid="look" disabled={busy} onClick={() => look(false)}>
          {busy ? "Looking…" : "Look for faults"}
        </button>
        {left.length > 0 && (
          <button
            type="button"
            className="primary"
            data-testid="mend"
            disabled={busy}
            onClick={() => look(true)}
          >
            Repair what can be repaired
          </button>
        )}
      </div>
      <div role="status" data-testid="findings">
        {findings?.length === 0 && <p>Nothing is wrong.</p>}
        {findings !== undefined && findings.length > 0 && (
          <>
            <p>
              {counted(findings.length, "finding")}, {findings.length - left.length} repaired.
            </p>
            <ul className="rows">
              {findings.map(({ kind, sentence, mended }) => (
                <li key={`${kind} ${sentence}`} data-testid="finding" data-mended={mended}>
                  <div className="row">
                    <span className={`mark ${mended ? "completed" : "failed"}`}>
                      {mended ? "repaired" : "found"}
                    </span>
                    <span className="main">{sentence}</span>
                  </div>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      {trouble !== undefined && (
        <p className="trouble" role="alert">
          {trouble}
        </p>
      )}
    </section>
  );
}

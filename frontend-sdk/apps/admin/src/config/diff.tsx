/** What one version says otherwise than another. */

import type { ReactNode } from "react";
import type { CodedAgent, OverrideContent } from "../admin.gen.js";
import { counted } from "../ui/moments.js";
import { changesBetween, type FieldChange, NAMES } from "./content.js";
import { linesBetween, type Shown, shortened } from "./lines.js";

interface DiffProps {
  readonly before: OverrideContent;
  readonly after: OverrideContent;
  readonly code: CodedAgent;
}

export function Diff({ before, after, code }: DiffProps): ReactNode {
  const changes = changesBetween(before, after, code);
  if (changes.length === 0) return <p className="soft">They say the same.</p>;
  return (
    <dl className="diff" data-testid="diff">
      {changes.map((change) => (
        <div key={change.field} data-field={change.field}>
          <dt>{NAMES[change.field]}</dt>
          <dd>{change.field === "instructions" ? <Text {...change} /> : <Words {...change} />}</dd>
        </div>
      ))}
    </dl>
  );
}

function Words({ before, after, wasCoded, isCoded }: FieldChange): ReactNode {
  return (
    <p>
      <del>{before}</del>
      {wasCoded && <span className="soft"> (as coded)</span>} → <ins>{after}</ins>
      {isCoded && <span className="soft"> (as coded)</span>}
    </p>
  );
}

function Text({ before, after, wasCoded, isCoded }: FieldChange): ReactNode {
  const lines = shortened(linesBetween(before, after));
  return (
    <>
      {wasCoded !== isCoded && (
        <p className="soft">
          {wasCoded
            ? "As coded before; these stand in their place:"
            : "As coded again, in place of these:"}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre className="lines" tabIndex={0}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name.
          <Row key={index} line={line} />
        ))}
      </pre>
    </>
  );
}

function Row({ line }: { readonly line: Shown }): ReactNode {
  switch (line.kind) {
    case "skipped":
      return <span className="skipped">{counted(line.lines, "line")} as before</span>;
    case "gone":
      return (
        <del>
          <span className="sign">− </span>
          {line.text}
        </del>
      );
    case "new":
      return (
        <ins>
          <span className="sign">+ </span>
          {line.text}
        </ins>
      );
    case "same":
      return (
        <span>
          <span className="sign">{"  "}</span>
          {line.text}
        </span>
      );
  }
}

/** A value: one line a field where it is simple, a tree where it is not. */

import type { ReactNode } from "react";
import { fieldsOf, isTree, words } from "./values.js";

/** Arguments as people read them. */
export function Readable({ value }: { readonly value: unknown }): ReactNode {
  const fields = fieldsOf(value);
  if (fields === undefined) return <pre className="value">{words(value)}</pre>;
  if (fields.length === 0) return <p className="soft">No arguments.</p>;
  return (
    <dl className="pairs">
      {fields.map(([name, one]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{isTree(one) ? <Tree value={one} /> : words(one)}</dd>
        </div>
      ))}
    </dl>
  );
}

const OPEN_DEPTH = 2;
const MOST = 200;

/** A value that can be opened and closed, level by level. */
export function Tree(props: { readonly value: unknown; readonly depth?: number }): ReactNode {
  const { value, depth = 0 } = props;
  if (!isTree(value)) {
    return (
      <code className={`leaf ${value === null ? "null" : typeof value}`}>
        {JSON.stringify(value)}
      </code>
    );
  }
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <code className="leaf">{list ? "[]" : "{}"}</code>;
  return (
    <details className="tree" open={depth < OPEN_DEPTH}>
      <summary>
        {list
          ? `${entries.length} in a list`
          : `${entries.length} field${entries.length === 1 ? "" : "s"}`}
      </summary>
      <ul>
        {entries.slice(0, MOST).map(([name, one]) => (
          <li key={name}>
            <span className="key">{name}</span> <Tree value={one} depth={depth + 1} />
          </li>
        ))}
        {entries.length > MOST && <li className="soft">and {entries.length - MOST} more</li>}
      </ul>
    </details>
  );
}

export function Json({ value }: { readonly value: unknown }): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <pre className="value" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}

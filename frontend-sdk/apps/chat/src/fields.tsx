import type { ReactNode } from "react";

/** An object's entries, one a line. */
export function Fields({ value }: { readonly value: unknown }): ReactNode {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return null;
  return (
    <dl className="fields">
      {entries.map(([name, one]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof one === "string" ? one : JSON.stringify(one)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** One number with its name. */

import type { ReactNode } from "react";

export function Tile(props: {
  readonly name: string;
  readonly value: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="tile">
      <dt>{props.name}</dt>
      <dd>
        <b>{props.value}</b>
        {props.children && <span className="soft links">{props.children}</span>}
      </dd>
    </div>
  );
}

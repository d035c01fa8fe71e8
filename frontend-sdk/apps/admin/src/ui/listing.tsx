/** A list of what fits the filters, a page after another; or why there is none. */

import type { ReactNode } from "react";
import type { RopewalkError } from "ropewalk";
import { Link, to } from "../router.js";
import { Empty, Loading, Trouble } from "./states.js";

interface ListingProps<Row> {
  readonly pages: {
    readonly rows: readonly Row[] | undefined;
    readonly error: RopewalkError | undefined;
    readonly more: (() => void) | undefined;
    readonly busy: boolean;
  };
  /** What it is a list of, as "runs". */
  readonly what: string;
  /** Said when it is empty. */
  readonly nothing: string;
  readonly children: (rows: readonly Row[]) => ReactNode;
}

export function Listing<Row>({ pages, what, nothing, children }: ListingProps<Row>): ReactNode {
  const { rows, error, more, busy } = pages;
  return (
    <>
      {error && <Trouble error={error} />}
      {rows === undefined ? (
        !error && <Loading what={what} />
      ) : rows.length === 0 ? (
        <Empty title={nothing}>
          <Link href={to("agents")}>Talk to an agent</Link>
        </Empty>
      ) : (
        children(rows)
      )}
      {more && (
        <button type="button" className="more" disabled={busy} onClick={more}>
          {busy ? "Loading…" : `Older ${what}`}
        </button>
      )}
    </>
  );
}

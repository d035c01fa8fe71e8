/** Who may decide a call that waits, and until when. */

import type { ReactNode } from "react";
import type { ApprovalRecord } from "ropewalk";

const STANDS_FOR: Readonly<Record<string, string>> = {
  $owner: "the owner of this conversation",
  $speaker: "the person who asked for it",
};

export function Terms({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { approvers, mayDecide, expiresAt, onExpiry, editable } = approval;
  const who = approvers.map((one) => STANDS_FOR[one] ?? one);
  const named = new Intl.ListFormat("en", { type: "disjunction" }).format(who);
  return (
    <p className="terms" data-testid="terms">
      {who.length > 0 && `Approver: ${named}. `}
      {!mayDecide && (
        <strong>{who.length > 0 ? "That is not you. " : "It waits for somebody else. "}</strong>
      )}
      {mayDecide && editable && "You may change its arguments. "}
      {expiresAt !== undefined && (
        <>
          Without an answer it {onExpiry === "approved" ? "goes ahead" : "is refused"} on{" "}
          <time dateTime={expiresAt}>{moment(expiresAt)}</time>.
        </>
      )}
    </p>
  );
}

/** A date and time as people here write them. */
export function moment(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

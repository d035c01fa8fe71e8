import { createMemo } from "solid-js";
import {
  type AgentApprovalsOptions,
  type ApprovalActions,
  type ApprovalsOptions,
  type ApprovalsState,
  approvalActions,
  createApprovals as approvalsOf,
  kept,
} from "../core/index.js";
import { useClient } from "./context.js";
import { access, createFields, type MaybeAccessor } from "./readable.js";

/** What waits and what was decided, live, and deciding it. */
export type CreateApprovals = ApprovalsState & ApprovalActions;

/** What waits for a person, live. A decision shows at once; refused, the card is back. */
export function createApprovals(options: MaybeAccessor<AgentApprovalsOptions>): CreateApprovals {
  const client = useClient();
  const of = kept((given: ApprovalsOptions) => approvalsOf(client, given));
  const approvals = createMemo(() => {
    const { threadKey: key, status, limit, via } = access(options);
    return of({ key, status, limit, via });
  });
  return createFields(() => approvals().state, approvalActions(approvals));
}

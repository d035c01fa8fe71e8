import {
  type AgentApprovalsOptions,
  type ApprovalActions,
  type ApprovalsOptions,
  type ApprovalsState,
  approvalActions,
  createApprovals,
  kept,
} from "../core/index.js";
import { getClient } from "./context.js";
import { fromFields, type MaybeGetter, read, type Shown } from "./readable.js";

/** What waits and what was decided, live, and deciding it. */
export type AgentApprovals = ApprovalsState & ApprovalActions & Shown<ApprovalsState>;

/** What waits for a person, live. A decision shows at once; refused, the card is back. */
export function approvals(options: MaybeGetter<AgentApprovalsOptions>): AgentApprovals {
  const client = getClient();
  const of = kept((given: ApprovalsOptions) => createApprovals(client, given));
  const shown = () => {
    const { threadKey: key, status, limit, via } = read(options);
    return of({ key, status, limit, via });
  };
  return fromFields(() => shown().state, approvalActions(shown));
}

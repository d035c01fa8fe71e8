import { useMemo } from "react";
import {
  type AgentApprovalsOptions,
  type ApprovalActions,
  type ApprovalsState,
  approvalActions,
  createApprovals,
} from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

/** What waits and what was decided, live, and deciding it. */
export interface UseApprovals extends ApprovalsState, ApprovalActions {}

/** What waits for a person, live. A decision shows at once; refused, the card is back. */
export function useApprovals(options: AgentApprovalsOptions): UseApprovals {
  const client = useClient();
  const { threadKey: key, status, limit, via } = options;
  const approvals = useMemo(
    () => createApprovals(client, { key, status, limit, via }),
    [client, key, status, limit, via],
  );
  const shown = useReadable(approvals.state);
  const actions = useMemo(() => approvalActions(() => approvals), [approvals]);
  return useMemo(() => ({ ...shown, ...actions }), [shown, actions]);
}

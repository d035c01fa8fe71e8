import { useMemo } from "react";
import {
  type Api,
  type ApprovalActions,
  type ApprovalsState,
  createApprovals,
  type Surface,
} from "../core/index.js";
import { useClient } from "./provider.js";
import { useReadable } from "./use-readable.js";

export interface UseApprovalsOptions {
  readonly api: Api;
  /** Those of one thread and of what it has delegated; by default all that are the user's to see. */
  readonly threadKey?: string;
  /** Whether what was decided is listed, too. Default: `pending`. */
  readonly status?: "pending" | "all";
  /** How many at most. Default: 200. */
  readonly limit?: number;
  /** Where the person decides, for the record. Default: `api`. */
  readonly via?: Surface;
}

/** What waits and what was decided, live, and deciding it. */
export interface UseApprovals extends ApprovalsState, ApprovalActions {}

/** What waits for a person, live. A decision shows at once; refused, the card is back. */
export function useApprovals(options: UseApprovalsOptions): UseApprovals {
  const client = useClient();
  const { threadKey: key, status, limit, via } = options;
  const approvals = useMemo(() => {
    const args = {
      ...(key !== undefined && { key }),
      ...(status && { status }),
      ...(limit && { limit }),
    };
    return createApprovals(client, { ...args, via });
  }, [client, key, status, limit, via]);
  const shown = useReadable(approvals.state);
  return useMemo(() => {
    const { state: _state, ...actions } = approvals;
    return { ...shown, ...actions };
  }, [shown, approvals]);
}

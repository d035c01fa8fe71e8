import { computed, type MaybeRefOrGetter, toValue } from "vue";
import {
  type AgentApprovalsOptions,
  type ApprovalActions,
  type ApprovalsOptions,
  type ApprovalsState,
  approvalActions,
  createApprovals,
  kept,
} from "../core/index.js";
import { useClient } from "./client.js";
import { type Fields, useFields } from "./readable.js";

/** What waits and what was decided, live, and deciding it. */
export type UseApprovals = Fields<ApprovalsState> & ApprovalActions;

/** What waits for a person, live. A decision shows at once; refused, the card is back. */
export function useApprovals(options: MaybeRefOrGetter<AgentApprovalsOptions>): UseApprovals {
  const client = useClient();
  const of = kept((given: ApprovalsOptions) => createApprovals(client, given));
  const approvals = computed(() => {
    const { threadKey: key, status, limit, via } = toValue(options);
    return of({ key, status, limit, via });
  });
  return { ...useFields(() => approvals.value.state), ...approvalActions(() => approvals.value) };
}

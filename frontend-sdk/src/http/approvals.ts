/** What waits for a person, and deciding it. */

import type { Verdict } from "../core/approvals.js";
import {
  AGENT_RESOLVE_APPROVALS,
  type ApprovalRecord,
  type ResolvedApproval,
  type Surface,
} from "../core/protocol.gen.js";
import { at, query } from "./address.js";
import type { ApprovalsQuery } from "./agents.js";
import type { ApprovalList } from "./http.gen.js";
import { HttpError } from "./http-error.js";
import type { RequestOptions, Transport } from "./transport.js";

export interface DecideOptions extends RequestOptions {
  /** Where the person decides, for the record. Default: `api`. */
  readonly via?: Surface | undefined;
}

export class ApprovalsClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All that are the caller's to see, the longest waiting first. */
  async list({
    limit,
    status,
    ...options
  }: ApprovalsQuery = {}): Promise<readonly ApprovalRecord[]> {
    const path = at`/approvals` + query({ limit, status });
    return (await this.#transport.send<ApprovalList>({ method: "GET", path }, options)).approvals;
  }

  /**
   * Decide what one conversation asks, on the arguments that were shown: all of it, or nothing.
   * What was decided so already stays so; decided otherwise, it fails with `CONFLICT`.
   */
  async decide(
    verdicts: Verdict | readonly Verdict[],
    { via, ...options }: DecideOptions = {},
  ): Promise<readonly ResolvedApproval[]> {
    const all = [verdicts].flat();
    const [key, another] = new Set(all.map(({ approval }) => approval.key));
    if (key === undefined || another !== undefined) {
      throw new HttpError("INVALID_ARGUMENT", "the decisions of one conversation are made at once");
    }
    const decisions = all.map(({ approval, ...verdict }) => ({
      toolCallId: approval.toolCallId,
      inputHash: approval.inputHash,
      ...verdict,
    }));
    return await this.#transport.send(
      {
        method: "POST",
        path: at`/functions/${AGENT_RESOLVE_APPROVALS}`,
        body: { key, decisions, via },
      },
      options,
    );
  }
}

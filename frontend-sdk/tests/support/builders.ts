/** Rows and threads with everything but what a test is about filled in. */

import type {
  ApprovalRecord,
  Message,
  PendingApproval,
  ThreadView,
  Token,
} from "../../src/core/index.js";

const AT = "2026-11-29T17:33:00Z";

export function aMessage(over: Partial<Message> & { seq: number }): Message {
  const role = over.role ?? "assistant";
  const text = over.text ?? `message ${over.seq}`;
  return {
    id: `m-${over.seq}`,
    runId: "r-1",
    role,
    ...(role === "assistant" && { turn: 0 }),
    text,
    parts: [{ type: "text", text }],
    status: "complete",
    createdAt: AT,
    ...over,
  };
}

export function aThread(over: Partial<ThreadView> = {}): ThreadView {
  return {
    key: "t-1",
    agent: "support",
    title: null,
    status: "running",
    usage: {
      requests: 0,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    },
    runId: "r-1",
    error: null,
    pendingApprovals: [],
    waiting: [],
    createdAt: AT,
    updatedAt: AT,
    ...over,
  };
}

/** A refund that waits. */
export function anApproval(over: Partial<PendingApproval> = {}): PendingApproval {
  return {
    id: "a-1",
    key: "t-1",
    agent: "support",
    runId: "r-1",
    toolCallId: "c-1",
    name: "refund",
    input: { amount: 60 },
    inputHash: "h-1",
    editable: false,
    approvers: [],
    requestedAt: AT,
    ...over,
  };
}

/** The same as inbox and history list it. */
export function aRecord(over: Partial<ApprovalRecord> = {}): ApprovalRecord {
  const more = { owner: "user-1", title: "Hello", status: "pending", mayDecide: true } as const;
  return { ...anApproval(), ...more, ...over };
}

export function aToken(over: Partial<Token> = {}): Token {
  return {
    type: "token",
    id: "m",
    run: "r-1",
    turn: 0,
    part: 0,
    kind: "text",
    offset: 0,
    text: "",
    attempt: 100,
    ...over,
  };
}

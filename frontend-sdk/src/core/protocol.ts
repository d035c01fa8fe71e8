/** Text to frames and back. What this client does not know it ignores; see docs/protocol.md. */

import type { ClientFrame, ServerFrame } from "./protocol.gen.js";

const KNOWN = {
  welcome: true,
  snapshot: true,
  delta: true,
  token: true,
  result: true,
  error: true,
  pong: true,
  goodbye: true,
} satisfies Record<ServerFrame["type"], true>;

/** Return the frame, or `undefined` for what is no frame or has a `type` of a later day. */
export function parseServerFrame(raw: unknown): ServerFrame | undefined {
  if (typeof raw !== "string") return undefined;
  let frame: unknown;
  try {
    frame = JSON.parse(raw);
  } catch {
    return undefined;
  }
  const type = (frame as { type?: unknown } | null)?.type;
  return typeof type === "string" && Object.hasOwn(KNOWN, type)
    ? (frame as ServerFrame)
    : undefined;
}

export function encodeClientFrame(frame: ClientFrame): string {
  return JSON.stringify(frame);
}

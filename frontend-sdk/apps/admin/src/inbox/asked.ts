/**
 * Why a call waits: what the person said, and what the agent answered.
 *
 * Asked once for each card: of the first ones at once, of the others when they come near the
 * screen, so five hundred cards ask for a dozen or two.
 */

import { type RefObject, useEffect, useState } from "react";
import type { ApprovalRecord, ChatClient, Message } from "ropewalk";
import { useClient } from "ropewalk/react";
import { api } from "../api.js";

export interface Asked {
  /** What a person said last before the call. */
  readonly said: string | undefined;
  /** What the agent said with the call. */
  readonly answered: string | undefined;
}

const NEAR = "400px";
/** So many cards fill the largest screen. */
export const FIRST = 12;
const PAGE = 20;
const AGAIN_MS = 3_000;
const known = new WeakMap<ChatClient, Map<string, Promise<Asked>>>();

export function useAsked(
  approval: ApprovalRecord,
  card: RefObject<Element | null>,
  isFirst: boolean,
): Asked | undefined {
  const client = useClient();
  const [asked, setAsked] = useState<Asked>();
  useEffect(() => {
    if (card.current === null) return;
    let gone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      askOnce(client, approval).then(
        (found) => !gone && setAsked(found),
        // The card is complete without it, and better with it.
        () => {
          if (!gone) timer = setTimeout(look, AGAIN_MS);
        },
      );
    };
    const forget = (): void => {
      gone = true;
      clearTimeout(timer);
    };
    if (isFirst) {
      look();
      return forget;
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        look();
      },
      { rootMargin: NEAR },
    );
    observer.observe(card.current);
    return () => {
      forget();
      observer.disconnect();
    };
  }, [client, approval, card, isFirst]);
  return asked;
}

function askOnce(client: ChatClient, approval: ApprovalRecord): Promise<Asked> {
  const answers = known.get(client) ?? new Map<string, Promise<Asked>>();
  known.set(client, answers);
  const found = answers.get(approval.id) ?? ask(client, approval);
  answers.set(approval.id, found);
  found.catch(() => answers.delete(approval.id));
  return found;
}

async function ask(client: ChatClient, { key, toolCallId, runId }: ApprovalRecord): Promise<Asked> {
  const page = { key, limit: PAGE, stream: false };
  return aroundCall(await client.query(api.agents.agentMessages, page), runId, toolCallId);
}

/** Return what was said around a call. */
export function aroundCall(messages: readonly Message[], runId: string, toolCallId: string): Asked {
  const at = messages.findLastIndex(
    (message) =>
      message.runId === runId &&
      message.parts.some((part) => part.type === "tool_call" && part.toolCallId === toolCallId),
  );
  const before = at < 0 ? messages : messages.slice(0, at);
  return {
    said: before.findLast(({ role }) => role === "user")?.text || undefined,
    answered: messages[at]?.text || undefined,
  };
}

/**
 * Why a call waits: the conversation's title, what the person said, and what the agent answered.
 *
 * Asked once for each card, when it comes near the screen: five hundred cards ask for a dozen.
 */

import { type RefObject, useEffect, useState } from "react";
import type { ApprovalRecord, ChatClient, Message } from "ropewalk";
import { useClient } from "ropewalk/react";
import { api } from "../api.js";

export interface Asked {
  readonly title: string | undefined;
  /** What a person said last before the call. */
  readonly said: string | undefined;
  /** What the agent said with the call. */
  readonly answered: string | undefined;
}

const NEAR = "400px";
const PAGE = 20;
const AGAIN_MS = 3_000;
const known = new WeakMap<ChatClient, Map<string, Promise<Asked>>>();

export function useAsked(
  approval: ApprovalRecord,
  card: RefObject<Element | null>,
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
      gone = true;
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [client, approval, card]);
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
  const [thread, messages] = await Promise.all([
    client.query(api.agents.agentThread, { key }),
    client.query(api.agents.agentMessages, { key, limit: PAGE, stream: false }),
  ]);
  return { title: thread?.title ?? undefined, ...aroundCall(messages, runId, toolCallId) };
}

/** Return what was said around a call. */
export function aroundCall(
  messages: readonly Message[],
  runId: string,
  toolCallId: string,
): Pick<Asked, "said" | "answered"> {
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

/**
 * What can be done to a message beside reading it: answered again, said otherwise, or left for
 * another version. A page without this provider, as the admin's, only reads.
 */

import {
  createContext,
  type ReactNode,
  type RefObject,
  useContext,
  useMemo,
  useRef,
  useState,
} from "react";
import { type Alternatives, isBusy } from "ropewalk";
import type { useAgentChat } from "ropewalk/react";
import type { api } from "../api.gen.js";

type Chat = ReturnType<typeof useAgentChat<typeof api.chat.startRun>>;

export type Direction = "back" | "on";

/** A message that is being written anew. It outlives its field: what is refused comes back. */
export interface Draft {
  readonly messageId: string;
  readonly text: string;
}

export interface Branching {
  /** By the id of the message at which they go apart. */
  readonly ways: ReadonlyMap<string, Alternatives>;
  /** The answer that can be had again. */
  readonly last: string | undefined;
  /** What the user said to begin runs, if it can be said otherwise now. */
  readonly editable: ReadonlySet<string>;
  readonly draft: Draft | undefined;
  readonly setDraft: (draft: Draft | undefined) => void;
  readonly regenerate: (messageId: string) => void;
  readonly resend: (draft: Draft) => void;
  readonly select: (asked: Asked) => void;
  /** Which version was asked for: its message is another element, and the focus goes on to it. */
  readonly asked: RefObject<Asked | null>;
  /** The message whose field was left: the focus goes back to its button. */
  readonly left: RefObject<string | null>;
}

export interface Asked {
  readonly key: string;
  readonly seq: number;
  readonly direction: Direction;
}

const Context = createContext<Branching | undefined>(undefined);

export function useBranching(): Branching | undefined {
  return useContext(Context);
}

interface ProviderProps {
  readonly chat: Chat;
  /** Called when something new is said. */
  readonly said: () => void;
  readonly children: ReactNode;
}

export function BranchingProvider({ chat, said, children }: ProviderProps): ReactNode {
  const [draft, setDraft] = useState<Draft>();
  const asked = useRef<Asked>(null);
  const left = useRef<string>(null);
  const { messages, branches, status, regenerate, editMessage, selectBranch } = chat;
  // What waits for a person can be left waiting; what works is stopped first.
  const rests = !isBusy(status) || status === "awaiting_input";
  const branching = useMemo<Branching>(() => {
    const stored = messages.filter(({ optimistic }) => !optimistic);
    const begins = new Map([...stored].reverse().map((one) => [one.runId, one]));
    const newest = stored.findLast(({ role }) => role !== "tool");
    const isLast = rests && status !== "failed" && newest?.role === "assistant";
    return {
      ways: new Map(branches.map((one) => [one.messageId, one])),
      last: isLast ? newest.id : undefined,
      editable: new Set(
        [...begins.values()].flatMap(({ id, role }) => (rests && role === "user" ? [id] : [])),
      ),
      draft,
      setDraft,
      asked,
      left,
      // Why something was refused is the chat's error, and shown as that.
      regenerate(messageId) {
        said();
        regenerate(messageId).catch(() => {});
      },
      resend(sent) {
        setDraft(undefined);
        said();
        editMessage(sent.messageId, sent.text).catch(() => setDraft(sent));
      },
      select(one) {
        asked.current = one;
        selectBranch(one.key).catch(() => {
          asked.current = null;
        });
      },
    };
  }, [messages, branches, status, rests, draft, said, regenerate, editMessage, selectBranch]);
  return <Context value={branching}>{children}</Context>;
}

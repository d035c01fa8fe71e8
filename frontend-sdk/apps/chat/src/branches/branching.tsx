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
import type { Alternatives } from "ropewalk";
import type { useAgentChat } from "ropewalk/react";
import type { api } from "../api.gen.js";
import { type Offers, offersOf } from "./offers.js";

type Chat = ReturnType<typeof useAgentChat<typeof api.chat.startRun>>;

export type Direction = "back" | "on";

/** A message that is being written anew. It outlives its field: what is refused comes back. */
export interface Draft {
  readonly messageId: string;
  readonly text: string;
}

export interface Branching extends Offers {
  /** By the id of the message at which they go apart. */
  readonly ways: ReadonlyMap<string, Alternatives>;
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
  const branching = useMemo<Branching>(
    () => ({
      ...offersOf(messages, status),
      ways: new Map(branches.map((one) => [one.messageId, one])),
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
    }),
    [messages, branches, status, draft, said, regenerate, editMessage, selectBranch],
  );
  return <Context value={branching}>{children}</Context>;
}

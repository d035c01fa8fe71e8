/** Under each message: go on from there in a conversation of one's own; this one stays as it is. */

import { type ReactNode, useCallback } from "react";
import type { ChatMessage } from "ropewalk";
import { MoreUnder } from "../../../chat/src/branches/more.js";
import { Icon } from "../../../chat/src/icons.js";
import { useFork } from "./use-fork.js";

interface ForkingProps {
  /** Of the branch that is shown. */
  readonly threadKey: string;
  readonly children: ReactNode;
}

export function Forking({ threadKey, children }: ForkingProps): ReactNode {
  const under = useCallback(
    (message: ChatMessage) => <Fork threadKey={threadKey} messageId={message.id} />,
    [threadKey],
  );
  return <MoreUnder value={under}>{children}</MoreUnder>;
}

function Fork(props: { readonly threadKey: string; readonly messageId: string }): ReactNode {
  const { busy, trouble, fork } = useFork();
  return (
    <>
      <button
        type="button"
        className="quiet shy"
        data-testid="fork"
        title="Go on from here in a conversation of your own"
        disabled={busy}
        onClick={() => fork({ key: props.threadKey, messageId: props.messageId })}
      >
        <Icon name="copy" />
        <span>Fork from here</span>
      </button>
      {trouble !== undefined && (
        <span className="trouble" role="alert">
          {trouble}
        </span>
      )}
    </>
  );
}

import { type ReactNode, useCallback, useState } from "react";
import { Conversation } from "./conversation.js";
import { Sidebar } from "./sidebar.js";
import { useThreads } from "./threads.js";
import { useThreadKey } from "./use-thread-key.js";

export function App(): ReactNode {
  const { threadKey, show, startNew } = useThreadKey();
  const { threads, note } = useThreads();
  const [listOpen, setListOpen] = useState(false);
  const close = useCallback(() => setListOpen(false), []);
  const openList = useCallback(() => setListOpen(true), []);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the list from wherever the focus is.
    <div className="app" onKeyDown={(event) => event.key === "Escape" && close()}>
      <Sidebar
        threads={threads}
        current={threadKey}
        open={listOpen}
        close={close}
        show={(key) => {
          show(key);
          close();
        }}
        startNew={() => {
          startNew();
          close();
        }}
      />
      <Conversation
        key={threadKey}
        threadKey={threadKey}
        covered={listOpen}
        openList={openList}
        note={note}
      />
    </div>
  );
}

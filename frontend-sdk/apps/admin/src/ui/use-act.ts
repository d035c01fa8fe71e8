/** Doing something that may fail: whether it is being done, and what came of it in a sentence. */

import { useCallback, useState } from "react";

export interface Act {
  readonly busy: boolean;
  readonly trouble: string | undefined;
  /** Do it; return whether it was done. */
  readonly act: (what: () => Promise<unknown>) => Promise<boolean>;
  readonly forget: () => void;
}

export function useAct(): Act {
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const act = useCallback(async (what: () => Promise<unknown>) => {
    setBusy(true);
    setTrouble(undefined);
    try {
      await what();
      return true;
    } catch (thrown) {
      setTrouble(thrown instanceof Error ? thrown.message : String(thrown));
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  const forget = useCallback(() => setTrouble(undefined), []);
  return { busy, trouble, act, forget };
}

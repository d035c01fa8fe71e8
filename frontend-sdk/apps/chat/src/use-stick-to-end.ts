/**
 * Stay at the end while text comes, unless the reader has gone up to read.
 *
 * When an older page is put in front, what the reader looks at stays where it is.
 */

import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const NEAR_PX = 80;

export function useStickToEnd(firstSeq: number | undefined): {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly end: RefObject<HTMLDivElement | null>;
  /** Whether the reader is away from the end. */
  readonly away: boolean;
  readonly jump: () => void;
} {
  const scroller = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const heightBefore = useRef(0);
  const [away, setAway] = useState(false);

  const jump = useCallback(() => {
    stuck.current = true;
    setAway(false);
    const box = scroller.current;
    if (box !== null) box.scrollTop = box.scrollHeight;
  }, []);

  useEffect(() => {
    const box = scroller.current;
    const column = end.current?.parentElement;
    if (box === null || column == null) return;
    const look = () => {
      const distance = box.scrollHeight - box.scrollTop - box.clientHeight;
      stuck.current = distance < NEAR_PX;
      setAway(distance > NEAR_PX * 3);
    };
    const follow = () => {
      if (stuck.current) box.scrollTop = box.scrollHeight;
      heightBefore.current = box.scrollHeight;
    };
    const observer = new ResizeObserver(follow);
    observer.observe(column);
    observer.observe(box);
    box.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the first message's change that moves the rest.
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null || stuck.current) return;
    box.scrollTop += box.scrollHeight - heightBefore.current;
    heightBefore.current = box.scrollHeight;
  }, [firstSeq]);

  return { scroller, end, away, jump };
}

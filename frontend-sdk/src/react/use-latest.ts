/** The newest options for event handlers, so that a new object in each render changes nothing. */

import { type RefObject, useLayoutEffect, useRef } from "react";

export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}

/**
 * The newest options for event handlers, so that a new object in each render changes nothing.
 *
 * They are there before any layout effect runs, of a child's as well; and React 18 says nothing of
 * this effect on a server, where it complains of a layout effect.
 */

import { type RefObject, useInsertionEffect, useRef } from "react";

export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useInsertionEffect(() => {
    latest.current = value;
  });
  return latest;
}

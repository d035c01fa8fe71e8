/** The page with a boundary, in React. */

import {
  Component,
  createElement,
  type ReactNode,
  StrictMode,
  Suspense,
  startTransition,
} from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { RopewalkProvider, useSuspenseQuery } from "../../src/react/index.js";
import { oneOrder } from "../contract/functions-suite.js";
import type { ShowOrder } from "../contract/suspense-suite.js";

class Caught extends Component<{ children?: ReactNode }, { error?: Error }> {
  static getDerivedStateFromError = (error: Error) => ({ error });
  override state: { error?: Error } = {};
  override render() {
    return this.state.error?.message ?? this.props.children;
  }
}

function Order({ id }: { id: string }) {
  return createElement("p", null, `${id}: ${useSuspenseQuery(oneOrder, { id }).article}`);
}

export const showOrder: ShowOrder = (client, target, first) => {
  const root = createRoot(target, { onCaughtError: () => {} });
  const render = (id: string) => {
    const order = createElement(Order, { id });
    const boundary = createElement(Suspense, { fallback: "waiting" }, order);
    const caught = createElement(Caught, null, boundary);
    const page = createElement(RopewalkProvider, { client }, caught);
    root.render(createElement(StrictMode, null, page));
  };
  flushSync(() => render(first));
  return {
    show: (id, transition) => (transition ? startTransition : flushSync)(() => render(id)),
    leave: () => root.unmount(),
  };
};

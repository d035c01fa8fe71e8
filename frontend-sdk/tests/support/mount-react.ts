/** A hook in a component under React's own renderer, in strict mode. */

import { createElement, StrictMode } from "react";
import { flushSync as flush } from "react-dom";
import { createRoot } from "react-dom/client";
import type { ChatClient } from "../../src/core/index.js";
import { RopewalkProvider } from "../../src/react/index.js";
import type { Mounted } from "../contract/suite.js";

export function mount<T, Options>(
  client: ChatClient,
  first: Options,
  hook: (options: Options) => T,
): Mounted<T, Options> {
  const frames: Mounted<T, Options>["frames"] = [];
  const Probe = ({ options }: { options: Options }) => {
    frames.push({ options, value: hook(options) });
    return null;
  };
  const root = createRoot(document.createElement("div"));
  const show = (options: Options) => {
    const probe = createElement(Probe, { options });
    const tree = createElement(RopewalkProvider, { client }, probe);
    // A render that was asked for is there before the next line, as after a click.
    flush(() => root.render(createElement(StrictMode, null, tree)));
  };
  show(first);
  const now = () => {
    const last = frames.at(-1);
    if (last === undefined) throw new Error("nothing was rendered");
    return last.value;
  };
  return { frames, now, show, unmount: () => flush(() => root.unmount()) };
}

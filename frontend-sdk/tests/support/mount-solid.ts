/** A primitive in a component under Solid's own renderer. */

import { createComponent, createComputed, createRenderEffect, createSignal } from "solid-js";
import { render } from "solid-js/web";
import type { ChatClient } from "../../src/core/index.js";
import { RopewalkProvider } from "../../src/solid/index.js";
import type { Mounted } from "../contract/suite.js";

export function mount<T extends object, Options>(
  client: ChatClient,
  first: Options,
  create: (options: () => Options) => T,
): Mounted<T, Options> {
  const frames: Mounted<T, Options>["frames"] = [];
  const [options, setOptions] = createSignal(first, { equals: false });
  const Probe = () => {
    const given = create(options);
    const draw = () => {
      frames.push({ options: options(), value: { ...given } });
    };
    // The strictest of watchers: it runs between any two changes.
    createComputed(draw);
    createRenderEffect(draw);
    return null;
  };
  const provided = {
    client,
    get children() {
      return createComponent(Probe, {});
    },
  };
  const root = document.createElement("div");
  const unmount = render(() => createComponent(RopewalkProvider, provided), root);
  const now = () => {
    const last = frames.at(-1);
    if (last === undefined) throw new Error("nothing was rendered");
    return last.value;
  };
  return { frames, now, show: (next) => void setOptions(() => next), unmount };
}

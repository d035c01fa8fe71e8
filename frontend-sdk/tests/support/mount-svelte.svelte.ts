/** A store in a component under Svelte's own renderer. */

import { flushSync, mount as render, unmount } from "svelte";
import type { Readable } from "svelte/store";
import type { ChatClient } from "../../src/core/index.js";
import type { Mounted } from "../contract/suite.js";
import Probe from "./mount-svelte-probe.svelte";

export function mount<T extends Readable<object>, Options>(
  client: ChatClient,
  first: Options,
  create: (options: () => Options) => T,
): Mounted<T, Options> {
  const frames: Mounted<T, Options>["frames"] = [];
  const draw = (options: Options, value: T) => {
    frames.push({ options, value });
  };
  let options = $state.raw(first);
  const props = {
    client,
    create,
    draw,
    get options() {
      return options;
    },
  };
  const probe = render(Probe, { target: document.createElement("div"), props });
  flushSync();
  const now = () => {
    const last = frames.at(-1);
    if (last === undefined) throw new Error("nothing was rendered");
    return last.value;
  };
  const show = (next: Options) => {
    options = next;
    flushSync();
  };
  return { frames, now, show, unmount: () => void unmount(probe) };
}

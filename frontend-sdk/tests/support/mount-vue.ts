/** A composable in a component under Vue's own renderer. */

import { defineComponent, h, render, unref, watchEffect } from "vue";
import type { ChatClient } from "../../src/core/index.js";
import { provideClient } from "../../src/vue/index.js";
import type { Mounted } from "../contract/suite.js";

/** What refs hold, as a template sees it. */
export type Unwrapped<T> = { [Name in keyof T]: T[Name] extends { value: infer V } ? V : T[Name] };

export function mount<T extends object, Options>(
  client: ChatClient,
  first: Options,
  use: (options: () => Options) => T,
): Mounted<Unwrapped<T>, Options> {
  const frames: Mounted<Unwrapped<T>, Options>["frames"] = [];
  type Props = { readonly options: Options };
  const Probe = defineComponent(
    (props: Props) => {
      const refs = use(() => props.options);
      const draw = () => {
        const shown = Object.entries(refs).map(([name, value]) => [name, unref(value)]);
        frames.push({ options: props.options, value: Object.fromEntries(shown) });
      };
      // The strictest of watchers: it runs between any two changes.
      watchEffect(draw, { flush: "sync" });
      return () => void draw();
    },
    { props: ["options"] },
  );
  const Root = defineComponent(
    (props: Props) => {
      provideClient(client);
      return () => h(Probe, props);
    },
    { props: ["options"] },
  );
  const container = document.createElement("div");
  const show = (options: Options) => render(h(Root, { options }), container);
  show(first);
  const now = () => {
    const last = frames.at(-1);
    if (last === undefined) throw new Error("nothing was rendered");
    return last.value;
  };
  return { frames, now, show, unmount: () => render(null, container) };
}

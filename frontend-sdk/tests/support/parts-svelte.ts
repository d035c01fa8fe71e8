/** The page of parts, in Svelte. */

import { mount, unmount } from "svelte";
import type { ShowParts } from "../contract/parts-suite.js";
import Page from "./parts-svelte.svelte";

export const showParts: ShowParts = (client, target, drawn) => {
  const page = mount(Page, { target, props: { client, drawn } });
  return () => void unmount(page);
};

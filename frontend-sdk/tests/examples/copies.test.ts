/** The examples are to be copied out of here, each by itself: what they share is in each of them. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) =>
  readFileSync(new URL(`../../examples/${path}`, import.meta.url), "utf8");

describe.each(["vue", "solid", "svelte"])("the example in %s", (name) => {
  it.each(["backend.ts", "threads.ts", "words.ts", "style.css"])("has the same %s", (file) => {
    expect(read(`${name}/src/${file}`)).toBe(read(`react/src/${file}`));
  });
});

/**
 * Builds the examples against this working tree: `node examples/build.mjs FOLDER [name ...]`.
 *
 * An example is an app of its own, to be copied out of here: it names `ropewalk` as a dependency and
 * knows nothing of this file, which only says where that is before it is published.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const [folder, ...names] = process.argv.slice(2);

for (const name of names.length > 0 ? names : ["react", "vue", "solid", "svelte", "element"]) {
  await build({
    root: at(name),
    logLevel: "warn",
    resolve: {
      alias: [
        { find: /^ropewalk$/, replacement: at("../src/core/index.ts") },
        { find: /^ropewalk\/(\w+)$/, replacement: at("../src/$1/index.ts") },
      ],
    },
    build: { outDir: join(folder, name), emptyOutDir: true },
  });
}

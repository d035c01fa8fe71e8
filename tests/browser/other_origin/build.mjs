/** Builds the page of this folder with what the SDK's own tests have: `node build.mjs SDK FOLDER`. */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [sdk, outDir] = process.argv.slice(2);
const within = createRequire(join(sdk, "package.json"));
const { build } = await import(pathToFileURL(within.resolve("vite")).href);

await build({
  root: dirname(fileURLToPath(import.meta.url)),
  configFile: false,
  logLevel: "error",
  resolve: {
    alias: [
      { find: /^ropewalk$/, replacement: join(sdk, "src/core/index.ts") },
      { find: /^(ai|@ai-sdk\/react|@ag-ui\/client)$/, replacement: join(sdk, "node_modules/$1") },
    ],
  },
  build: { outDir, emptyOutDir: true },
});

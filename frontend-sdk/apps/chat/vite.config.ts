import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at("."),
  // Relative, so that the page may be served from any path.
  base: "./",
  resolve: {
    alias: [
      { find: /^ropewalk\/react$/, replacement: at("../../src/react/index.ts") },
      { find: /^ropewalk$/, replacement: at("../../src/core/index.ts") },
    ],
  },
  build: {
    outDir: at("../../../app/http/static/chat"),
    emptyOutDir: true,
  },
});

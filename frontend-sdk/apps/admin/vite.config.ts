import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at("."),
  // Absolute: its addresses are of any depth.
  base: "/admin/",
  publicDir: at("../chat/public"),
  resolve: {
    alias: [
      { find: /^ropewalk\/react$/, replacement: at("../../src/react/index.ts") },
      { find: /^ropewalk$/, replacement: at("../../src/core/index.ts") },
    ],
  },
  build: {
    outDir: at("../../../app/http/static/admin"),
    emptyOutDir: true,
  },
});

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^ropewalk\/react$/, replacement: at("src/react/index.ts") },
      { find: /^ropewalk$/, replacement: at("src/core/index.ts") },
    ],
  },
  test: {
    include: ["tests/**/*.test.ts", "apps/*/tests/**/*.test.ts"],
    // Real sockets on one loopback: a stuck test must say so soon.
    testTimeout: 10_000,
    restoreMocks: true,
  },
});

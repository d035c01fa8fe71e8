import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    // Real sockets on one loopback: a stuck test must say so soon.
    testTimeout: 10_000,
    restoreMocks: true,
  },
});

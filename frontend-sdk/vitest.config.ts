import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import solid from "vite-plugin-solid";
import { defineConfig } from "vitest/config";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [
    solid({ include: ["tests/support/**/*.tsx"], ssr: true, dev: false }),
    svelte({ configFile: false, prebundleSvelteLibraries: false }),
  ],
  resolve: {
    alias: [
      { find: /^ropewalk$/, replacement: at("src/core/index.ts") },
      { find: /^ropewalk\/(react|vue|solid|svelte)$/, replacement: at("src/$1/index.ts") },
      // The gateway of the tests is a server, whatever it is that is tested.
      { find: /^ws$/, replacement: at("node_modules/ws/wrapper.mjs") },
    ],
  },
  // Solid and Svelte have one build for browsers and one for servers.
  environments: { client: { resolve: { conditions: ["browser"] } } },
  test: {
    include: ["tests/**/*.test.ts", "apps/*/tests/**/*.test.ts"],
    // Real sockets on one loopback, on machines that are busy with other things.
    testTimeout: 30_000,
    restoreMocks: true,
    server: { deps: { inline: [/solid-js/, /svelte/] } },
  },
});

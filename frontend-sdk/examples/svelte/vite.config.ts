import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

/** What `ropewalk dev` serves; through the page's own origin, so there is nothing to allow. */
const server = "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [svelte()],
  // Relative, so that the page may be served from any path.
  base: "./",
  server: { proxy: { "/ws": { target: server, ws: true }, "/dev": server } },
});

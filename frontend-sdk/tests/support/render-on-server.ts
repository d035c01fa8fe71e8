/** A server of its own, in a process that has no window: it renders the pages of all frameworks. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ClientSnapshot } from "../../src/core/index.js";
import type { Rendered } from "./pages/on-server.js";

const SERVER = `
  import { svelte } from "@sveltejs/vite-plugin-svelte";
  import { runnerImport } from "vite";
  import solid from "vite-plugin-solid";

  const plugins = [solid({ ssr: true }), svelte({ configFile: false })];
  const { module } = await runnerImport("./tests/support/pages/on-server.ts", { plugins });
  console.log(JSON.stringify(await module.renderAll(...JSON.parse(process.argv[1]))));
`;

export async function renderOnServer(
  url: string,
  snapshot: ClientSnapshot,
): Promise<Readonly<Record<string, Rendered>>> {
  const given = JSON.stringify([url, snapshot]);
  const args = ["--input-type=module", "--eval", SERVER, given];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

/**
 * What the scripts of this folder share: the gateway, the gates of its agents, and the two views of
 * a thread that have to agree: what a client shows, and what `agents:agentMessages` says.
 */

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, url, gates, token] = process.argv.slice(2);
const within = createRequire(join(sdk, "package.json"));

export const agent = `${url}/agents/actor`;

/** What every request bears. */
export const headers = { authorization: `Bearer ${token}` };

/** Import a package that the SDK's tests have. */
export const load = (name) => import(pathToFileURL(within.resolve(name)).href);

/** Let whoever waits for a gate go on. */
export const open = (gate) => writeFileSync(join(gates, gate), "");

/** Post to a route of ours. */
export async function post(path, body) {
  const answer = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export async function until(holds, what) {
  for (let tries = 0; tries < 1500; tries++) {
    const value = await holds();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`not seen in time: ${what}`);
}

/** A thread as it is stored, in the words of `stored` and of each client's own `shown`. */
export async function stored(key) {
  const rows = await post("/functions/agents:agentMessages", { key, limit: 200 });
  const results = new Map(
    rows
      .filter((row) => row.role === "tool")
      .map(({ parts: [part] }) => [part.toolCallId, result(part)]),
  );
  return rows.flatMap((row) => {
    if (row.role === "user") return [["user", row.text]];
    if (row.role !== "assistant") return [];
    return row.parts.map((part) =>
      part.type === "tool_call"
        ? ["call", part.name, part.input, results.get(part.toolCallId)]
        : [part.type, part.text],
    );
  });
}

const result = (part) => {
  if (part.isError === undefined) return "open";
  const output = part.output ?? null;
  return part.isError ? ["failed", output] : ["done", output];
};

export const thread = (key) => post("/functions/agents:agentThread", { key });

/** Tell the test what was seen. */
export async function tell(scenes) {
  const told = {};
  for (const [name, scene] of Object.entries(scenes)) {
    try {
      told[name] = await scene();
    } catch (error) {
      throw new Error(`${name}: ${error.stack}`);
    }
  }
  process.stdout.write(JSON.stringify(told), () => process.exit(0));
}

/** The key of a conversation that the page has not named: made once for each agent, and kept. */

const KEPT = "ropewalk.element.";

/** Private windows and sandboxed frames may refuse to keep it; then it lasts as long as the page. */
const known = new Map<string, string>();

/** Return the key that this browser has with an agent; with `anew`, another from now on. */
export function keptKey(agent: string, anew = false): string {
  const name = KEPT + agent;
  const key = anew ? newKey() : (known.get(name) ?? stored(name) ?? newKey());
  known.set(name, key);
  try {
    localStorage.setItem(name, key);
  } catch {
    // As said above.
  }
  return key;
}

function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** A key is all that protects a thread without an owner: it must not be guessed. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `chat-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

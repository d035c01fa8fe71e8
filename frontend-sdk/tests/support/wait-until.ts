/** Wait for what must become true; a fixed sleep is either too short or too long. */
export async function waitUntil(
  predicate: () => boolean,
  description: string,
  timeoutMs = 15_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!predicate()) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${description}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

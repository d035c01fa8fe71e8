/**
 * How many schedules the fuzzers draw, and from which seed on.
 *
 * `SCHEDULES=50000 npx vitest run convergence` draws more of them; `SEED=17 SCHEDULES=1` plays one
 * again that has failed.
 */

const { SCHEDULES, SEED } = process.env;

/** A new one in each run, so that a year of runs sees more than one of them. */
export const FIRST_SEED = SEED === undefined ? Math.floor(Math.random() * 1e9) : Number(SEED);

export function schedules(usual: number): number {
  return SCHEDULES === undefined ? usual : Number(SCHEDULES);
}

/** Play so many schedules. A failure names its seed. */
export async function playAll(
  count: number,
  play: (seed: number) => Promise<void> | void,
): Promise<void> {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + count; seed += 1) {
    try {
      await play(seed);
    } catch (thrown) {
      throw new Error(`schedule ${seed}: ${(thrown as Error).message}`, { cause: thrown });
    }
  }
}

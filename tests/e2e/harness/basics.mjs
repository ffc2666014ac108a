// Where things are, waiting on conditions, chance from a seed.
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const here = join(dirname(fileURLToPath(import.meta.url)), "..");
export const repository = join(here, "../..");
export const cru_bin = realpathSync(process.env.CRU_BIN ?? join(repository, "build/test/cru"));
export { sleep };

/// Waits until `condition()` is truthy and gives its value back. An exception counts as not yet.
export async function waitFor(condition, { within = 30_000, every = 25, what = condition.toString() } = {}) {
  const end = Date.now() + within;
  let trouble;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      trouble = undefined;
    } catch (error) {
      if (error.final) throw error;
      trouble = error;
    }
    if (Date.now() > end) throw new Error(`not within ${within} ms: ${what}${trouble ? ` (${trouble.message})` : ""}`);
    await sleep(every);
  }
}

/// A small seeded generator: the same seed, the same kill times.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Where things are, waiting on conditions, chance from a seed.
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const here = join(dirname(fileURLToPath(import.meta.url)), "..");
export const repository = join(here, "../..");
export const cru_bin = realpathSync(process.env.CRU_BIN ?? join(repository, "build/test/cru"));
export { sleep };

/// How long a test waits for what has to come, in milliseconds: so long that only what never comes ends it, on a machine
/// that is busy with other things too. No test has a deadline of its own. CRU_TEST_PATIENCE_S=n makes it n seconds.
export const patience = 1000 * Number(process.env.CRU_TEST_PATIENCE_S ?? 240);

/// Functions that tell what is known of the test's daemons, for the message of a wait that was in vain.
export const witnesses = new Set();
const testimony = () => [...witnesses].map((tell) => { try { return tell(); } catch (error) { return error.message; } }).join("\n");
const vain = (within, what, last) => new Error(`not within ${within / 1000} s: ${what}${last ? `\nat last: ${last}` : ""}\n${testimony()}`);
const shown = (value) => { try { return JSON.stringify(value)?.slice(0, 2000); } catch { return String(value); } };

/// Waits until `condition()` is truthy and gives its value back. An exception counts as not yet.
export async function waitFor(condition, { within = patience, every = 25, what = condition.toString() } = {}) {
  const end = Date.now() + within;
  for (;;) {
    let last;
    try {
      const value = await condition();
      if (value) return value;
      if (value !== undefined && value !== false) last = shown(value);
    } catch (error) {
      if (error.final) throw error;
      last = error.message;
    }
    if (Date.now() > end) throw vain(within, what, last);
    await sleep(every);
  }
}

/// The promise, or an error if nothing comes of it: `what` says what it is, `last` tells how things stand.
export function inTime(promise, what, last = () => "") {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(vain(patience, what, last())), patience).unref(); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
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

// Where things are, waiting on conditions, chance from a seed.
import assert, { AssertionError } from "node:assert/strict";
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

/// Functions that tell what is known of the test's daemons, for the message of a wait that timed out.
export const witnesses = new Set();
const testimony = () => [...witnesses].map((tell) => { try { return tell(); } catch (error) { return error.message; } }).join("\n");
const timedOut = (within, what, last) => new Error(`timed out after ${within / 1000} s: ${what}${last ? `\nlast value: ${last}` : ""}\n${testimony()}`);
const shown = (value) => { try { return JSON.stringify(value)?.slice(0, 2000); } catch { return String(value); } };

/// Waits until `condition()` is truthy and gives its value back. An exception counts as not yet, but not an assertion that
/// failed, nor an error with `final`: those end the wait.
export async function waitFor(condition, { within = patience, every = 25, what = condition.toString() } = {}) {
  const end = Date.now() + within;
  for (;;) {
    let last;
    try {
      const value = await condition();
      if (value) return value;
      if (value !== undefined && value !== false) last = shown(value);
    } catch (error) {
      if (error.final || error instanceof AssertionError) throw error;
      last = error.message;
    }
    if (Date.now() > end) throw timedOut(within, what, last);
    await sleep(every);
  }
}

/// The promise, or an error if nothing comes of it: `what` says what it is, `last` tells how things stand.
export function inTime(promise, what, last = () => "") {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(timedOut(patience, what, last())), patience).unref(); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/// Asserts that `time` (RFC 3339, or milliseconds) lies between two instants of this process. A second of slack on both
/// sides: clocks are set while tests run, and each program rounds in its own way.
export function assertBetween(time, from, until = Date.now()) {
  const at = typeof time === "string" ? Date.parse(time) : time, slack = 1000;
  assert.ok(at >= from - slack && at <= until + slack, `${time} is not between ${new Date(from).toISOString()} and ${new Date(until).toISOString()}`);
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

// Live agents without their clients: what an idle one costs, the bus by itself, ways over the floor.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { measure, median, quick, row, temporaryFolder } from "./harness.mjs";

const counts = quick ? [1000, 10_000] : [1000, 10_000, 100_000];
const rounds = quick ? 1 : 3;
const listeners = 10_000;

const many = (count) => count.toLocaleString("en");
const of = (list, field) => median(list.map((each) => each[field]));

/// In the table the rules alone, by themselves; then the runtime with its store; then a runtime that finds them there.
function agents(folder) {
  const found = {};
  for (let round = 0; round < rounds; ++round)
    for (const count of counts) {
      const root = join(folder, `${count}-${round}`);
      mkdirSync(root);
      const each = (found[count] ??= { table: [], spawn: [], recover: [] });
      each.table.push(measure("agents_idle", "table", count));
      // Durable spawns of the many take long, and their rounds agree.
      if (round === 0 || count < 100_000) {
        each.spawn.push(measure("agents_idle", "spawn", count, root));
        each.recover.push(measure("agents_idle", "recover", count, root));
        if (count === listeners) each.say = measure("agents_idle", "say", count, root);
      }
      rmSync(root, { recursive: true });
    }
  return counts.flatMap((count) => {
    const { table, spawn, recover, say } = found[count];
    const less = { better: "less" };
    const name = (what) => `${many(count)} agents: ${what}`;
    return [
      row(name("memory of an idle one, in the runtime"), "bytes", of(recover, "bytes_each"), { ...less, aim: 1024 }),
      row(name("the same, resident"), "bytes", of(recover, "resident_each"), less),
      row(name("the same just spawned, the bus's ring and caches with it"), "bytes", of(spawn, "bytes_each"), less),
      row(name("spawn, in memory, CPU"), "us", of(table, "spawn_us"), { ...less, aim: 2, rounds: table.map((each) => each.spawn_us) }),
      row(name("spawn, all that the engine does before it waits"), "us", of(spawn, "until_waiting_us"), less),
      row(name("spawn, durable: the engine's CPU"), "us", of(spawn, "engine_cpu_us"), less),
      row(name("spawn, durable, 64 in flight"), "us", of(spawn, "durable_us"), { ...less, rounds: spawn.map((each) => each.durable_us) }),
      row(name("restore after a restart"), "us", of(recover, "recover_us"), less),
      ...(say ? [
        row(name("message to all, until each has it on disk"), "ms", say.written.p50_us / 1000, less),
        row(name("the same, the slowest of ten"), "ms", say.written.most_us / 1000, less),
        row(name("the same, the engine's CPU"), "ms", say.cpu.p50_us / 1000, less),
      ] : []),
    ];
  });
}

function bus() {
  const found = measure("bus_broadcasts", listeners, quick ? 500 : 2000, quick ? 3 : 7);
  const to = (how, what) => {
    const list = found[how];
    const aims = how === "broadcast" ? { p99: 1000, rate: 50 } : { p99: null, rate: null };
    const rates = list.map((each) => each.deliveries_per_second / 1e6);
    return [
      row(`bus, ${what}: p50`, "us", of(list, "p50_us"), { better: "less" }),
      row(`bus, ${what}: p99`, "us", of(list, "p99_us"), { better: "less", aim: aims.p99, rounds: list.map((each) => each.p99_us) }),
      row(`bus, ${what}: p99, CPU alone`, "us", median(list.map((each) => each.cpu.p99_us)), { better: "less" }),
      row(`bus, ${what}: deliveries`, "M/s", median(rates), { aim: aims.rate, rounds: rates }),
    ];
  };
  return [
    ...to("broadcast", `broadcast to ${many(listeners)}`),
    ...to("said_to_all", `said to ${many(listeners)} by name`),
    ...to("nearby", `broadcast to ${many(found.nearby[0].delivered_each)} in reach of ${many(listeners)}`),
  ];
}

function paths() {
  const found = measure("path_searches", quick ? 5000 : 20_000, quick ? 3 : 7);
  return [["empty", "empty floor"], ["crowded", "30 % taken"], ["maze", "maze"]].flatMap(([name, what]) => {
    const list = found[name];
    const tiles = Math.round(list[0].tiles);
    return [
      row(`way over 64x64, ${what} (${tiles} tiles on average): p50`, "us", of(list, "p50_us"), { better: "less", rounds: list.map((each) => each.p50_us) }),
      row(`way over 64x64, ${what}: p99`, "us", of(list, "p99_us"), { better: "less" }),
    ];
  });
}

export const title = "live agents";
export async function run() {
  const folder = temporaryFolder();
  try {
    return [...agents(folder), ...bus(), ...paths()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

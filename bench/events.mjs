// Durable events a second: each writer waits until its event is on disk.
import { rmSync } from "node:fs";
import { measure, median, quick, row, temporaryFolder } from "./harness.mjs";

export const title = "durable events";
export async function run() {
  const folder = temporaryFolder();
  let found;
  try {
    found = measure("durable_events", folder, quick ? 0.3 : 1, quick ? 2 : 4);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const of = (name, field) => median(found[name].map((round) => round[field]));
  const rounds = (name) => found[name].map((round) => round.per_second);
  return [1, 64].flatMap((writers) => {
    const [store, append, fixed] = [`store_${writers}`, `append_${writers}`, `in_place_${writers}`];
    const many = writers === 1 ? "1 writer" : `${writers} writers`;
    const a_sync = `${writers} a sync`;
    return [
      row(many, "events/s", of(store, "per_second"), { rounds: rounds(store), peer: of(append, "per_second"), peer_name: `append+fdatasync, ${a_sync}` }),
      row(many, "events/s", of(store, "per_second"), { rounds: rounds(store), peer: of(fixed, "per_second"), peer_name: `overwrite+fdatasync, ${a_sync}` }),
      row(`${many}, p50`, "us", of(store, "p50_us"), { better: "less", peer: of(append, "p50_us"), peer_name: "append+fdatasync" }),
      row(`${many}, p99`, "us", of(store, "p99_us"), { better: "less", peer: of(append, "p99_us"), peer_name: "append+fdatasync" }),
    ];
  });
}

// A disk that can be filled up.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Project } from "../harness.mjs";
import { cru_bin } from "./basics.mjs";

/// A kind of project whose .coven is a small file system of its own, of `size`, seen by its daemon only. It is in a user
/// namespace, so nobody has to be root for it.
export const onSmallDisk = (Kind) => class extends Kind {
  async startDaemon({ env = {} } = {}) {
    const coven = this.path(".coven");
    const script = `mkdir -p ${coven} && mount -t tmpfs -o size=${this.size} tmpfs ${coven} && exec ${cru_bin} daemon run`;
    await this.launched(() => {
      const daemon = this.spawn(["-rm", "sh", "-c", script], { argv0: "unshare", env });
      this.inside = `/proc/${daemon.pid}/root${this.root}`;
      this.socket = join(this.inside, ".coven/covend.sock");
      return daemon;
    });
    // To the daemon we are in another namespace, so no process can show who we are: this place is paired with it.
    const { code, stdout, stderr } = await this.inNamespace("pair", "--json");
    if (code !== 0) throw new Error(`cannot pair: ${stderr}`);
    this.key = undefined;
    const paired = await this.post("/pairings/redeem", { code: JSON.parse(stdout).code });
    this.key = paired.json.key;
    return this.daemon;
  }
  /// A verb of somebody who sees that disk.
  inNamespace(...words) {
    return this.spawn(["-t", String(this.daemon.pid), "-U", "--preserve-credentials", "-m", `--wd=${this.root}`, cru_bin, ...words], { argv0: "nsenter" }).ended;
  }
  path(...parts) { return join(this.inside && parts[0]?.startsWith(".coven/") ? this.inside : this.root, ...parts); }
  pidIn(name) {
    try { return Number.parseInt(readFileSync(join(this.inside, ".coven", name), "utf8"), 10); } catch { return null; }
  }
  fill(name, bytes) {
    try {
      writeFileSync(this.path(`.coven/${name}`), Buffer.alloc(bytes));
    } catch (error) {
      if (error.code !== "ENOSPC") throw error;
    }
  }
  async close() {
    // The way to the keeper's pid goes with the daemon.
    await this.endKeeper();
    await super.close();
  }
};

export class SmallDisk extends onSmallDisk(Project) {}

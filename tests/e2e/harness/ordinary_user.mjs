// A project whose programs all run as an ordinary user, also where the tests are root's: root sees and may everything, so
// half of the attacks cannot be seen there.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Project } from "../harness.mjs";
import { cru_bin } from "./basics.mjs";

const nobody = 65534;
const is_root = process.getuid() === 0;

/// The program and its helpers where an ordinary user may execute them: a clone may be in a folder that only root enters.
let shared;
function programs() {
  if (!is_root) return dirname(cru_bin);
  if (shared) return shared;
  shared = mkdtempSync(join(realpathSync(tmpdir()), "cru-bin-"));
  chmodSync(shared, 0o755);
  for (const name of ["cru", "attacker"]) {
    copyFileSync(join(dirname(cru_bin), name), join(shared, name));
    chmodSync(join(shared, name), 0o755);
  }
  process.on("exit", () => rmSync(shared, { recursive: true, force: true }));
  return shared;
}

export class UserProject extends Project {
  constructor(options) {
    super(options);
    this.own();
    this.cru_bin = join(programs(), "cru");
    this.attacker = join(programs(), "attacker");
  }

  /// What was written by the test belongs to the user.
  own() {
    if (is_root) spawnSync("chown", ["-R", `${nobody}:${nobody}`, this.root, this.home]);
  }

  spawn(args, { argv0 = this.cru_bin, ...options } = {}) {
    if (!is_root) return super.spawn(args, { argv0, ...options });
    return super.spawn(["--reuid", String(nobody), "--regid", String(nobody), "--clear-groups", argv0, ...args], { argv0: "setpriv", ...options });
  }

  /// A verb that must succeed: what it printed as JSON.
  async json(...args) {
    const { code, stdout, stderr } = await this.cru(...args, "--json");
    if (code !== 0) throw new Error(`cru ${args.join(" ")}: exit ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }
}

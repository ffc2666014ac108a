// A project whose programs all run as an ordinary user, also where the tests are root's: root sees and may everything, so
// half of the attacks cannot be seen there.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, lchownSync, lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Project } from "../harness.mjs";
import { cru_bin } from "./basics.mjs";

const nobody = 65534;
const is_root = process.getuid() === 0;
const as_nobody = ["--reuid", String(nobody), "--regid", String(nobody), "--clear-groups"];

/// The program and its helpers where an ordinary user may execute them: a clone may be in a folder that only root enters.
let shared;
function programs() {
  if (!is_root) return dirname(cru_bin);
  if (shared) return shared;
  shared = mkdtempSync(join(realpathSync(tmpdir()), "cru-bin-"));
  chmodSync(shared, 0o755);
  for (const name of ["cru", "attacker"].filter((one) => existsSync(join(dirname(cru_bin), one)))) {
    copyFileSync(join(dirname(cru_bin), name), join(shared, name));
    chmodSync(join(shared, name), 0o755);
  }
  process.on("exit", () => rmSync(shared, { recursive: true, force: true }));
  return shared;
}
/// The path of cru as an ordinary user may execute it.
export const userProgram = () => join(programs(), "cru");

/// The words of a command as the ordinary user gives it.
export const asUser = (...words) => (is_root ? ["setpriv", ...as_nobody, ...words] : words);

/// Gives a file, or a folder with everything in it, to the ordinary user. Links are not followed.
export function giveAway(path) {
  if (!is_root) return;
  const status = lstatSync(path);
  lchownSync(path, nobody, nobody);
  if (status.isDirectory()) for (const name of readdirSync(path)) giveAway(join(path, name));
}

export class UserProject extends Project {
  constructor(options) {
    super(options);
    this.own();
    this.cru_bin = userProgram();
    this.attacker = join(programs(), "attacker");
  }

  static async started(options, test) {
    const project = new this(options);
    test?.after(() => project.close());
    await project.startDaemon(options);
    return project;
  }

  /// What was written by the test belongs to the user.
  own() {
    giveAway(this.root);
    giveAway(this.home);
  }

  /// setpriv executes the program in its own place: the pid is the program's.
  spawn(args, { argv0 = this.cru_bin, ...options } = {}) {
    if (!is_root) return super.spawn(args, { argv0, ...options });
    return super.spawn([...as_nobody, argv0, ...args], { ...options, argv0: "setpriv" });
  }

  async startDaemon({ trusted = true, ...options } = {}) {
    const daemon = await super.startDaemon({ ...options, trusted: false });
    if (options.wait === false) return daemon;
    await this.enter();
    if (trusted) await this.trust();
    return daemon;
  }
  /// To the user's daemon a test of root's is nobody: where it speaks for the person itself, it shows a key.
  async enter() {
    if (!is_root) return;
    this.key = undefined;
    const { code } = await this.json("pair", "--label", "test");
    this.key = (await this.post("/pairings/redeem", { code })).json.key;
  }
  /// What a person shows over TCP.
  get credential() { return this.key ?? this.token; }

  /// git works only for whom the repository belongs to; while it is being made, that is us.
  git(...argv) {
    if (!is_root || lstatSync(this.root).uid !== nobody) return super.git(...argv);
    giveAway(this.root);
    const { status, stdout, stderr } = spawnSync("setpriv", [...as_nobody, "git", ...argv], { cwd: this.root, env: { ...this.env, GIT_CONFIG_NOSYSTEM: "1" }, encoding: "utf8" });
    if (status) throw new Error(`git ${argv.join(" ")}: ${stderr}`);
    return stdout;
  }

  /// A verb that must succeed: what it printed.
  async must(...args) {
    const { code, stdout, stderr } = await this.cru(...args);
    if (code !== 0) throw new Error(`cru ${args.join(" ")}: exit ${code}: ${stdout}${stderr}`);
    return stdout;
  }
  /// The same as JSON.
  async json(...args) {
    const { code, stdout, stderr } = await this.cru(...args, "--json");
    if (code !== 0) throw new Error(`cru ${args.join(" ")}: exit ${code}: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  }
}

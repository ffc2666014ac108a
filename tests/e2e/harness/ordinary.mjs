// A project whose programs run as an ordinary user, also where the tests run as root: what they prove is about people who
// are not, and root may do what the system refuses to everybody else.
import { spawnSync } from "node:child_process";
import { lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { cru_bin, Project } from "../harness.mjs";

const nobody = 65534;
const is_root = process.getuid() === 0;
const as_nobody = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--"];

/// Gives a file, or a folder with everything in it, to the ordinary user.
export function giveAway(path) {
  if (!is_root) return;
  const status = lstatSync(path);
  lchownSync(path, nobody, nobody);
  if (status.isDirectory()) for (const name of readdirSync(path)) giveAway(join(path, name));
}

export class OrdinaryProject extends Project {
  constructor(options) {
    super(options);
    giveAway(this.root);
    giveAway(this.home);
  }

  static async started(options, test) {
    const project = new OrdinaryProject(options);
    test?.after(() => project.close());
    await project.startDaemon(options);
    return project;
  }

  /// setpriv executes the program in its own place: the pid is the program's.
  spawn(args, options = {}) {
    if (!is_root) return super.spawn(args, options);
    const program = options.argv0 ?? cru_bin;
    return super.spawn([...as_nobody, program, ...args], { ...options, argv0: "setpriv" });
  }

  /// git works only for whom the repository belongs to; while it is being made, that is us.
  git(...argv) {
    if (!is_root || lstatSync(this.root).uid !== nobody) return super.git(...argv);
    giveAway(this.root);
    const { status, stdout, stderr } = spawnSync("setpriv", [...as_nobody, "git", ...argv], { cwd: this.root, env: { ...this.env, GIT_CONFIG_NOSYSTEM: "1" }, encoding: "utf8" });
    if (status) throw new Error(`git ${argv.join(" ")}: ${stderr}`);
    return stdout;
  }
}

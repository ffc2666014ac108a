// A verb at a terminal of its own, as a person sees it and types.
import { cru_bin, waitFor } from "./basics.mjs";

/// The verb at a terminal of its own; what it shows is `screen`, without escape sequences `text`.
export class Terminal {
  constructor(made, args, { env = {}, columns = 100 } = {}) {
    const words = [cru_bin, ...args].map((word) => `'${word}'`).join(" ");
    this.child = made.spawn(["-qfec", `stty cols ${columns} rows 30; exec ${words}`, "/dev/null"], { argv0: "script", stdio: ["pipe", "pipe", "pipe"], env: { TERM: "xterm-256color", NO_COLOR: "", ...env } });
    this.child.stdin.on("error", () => {});
    this.from = 0;
  }
  get screen() { return this.child.text.stdout; }
  get text() { return this.screen.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]|\r/g, ""); }
  type(text) { this.child.stdin.write(text); }
  /// Waits until this is on the screen, after what was waited for last.
  async see(pattern) {
    await waitFor(() => this.text.slice(this.from).match(pattern), { every: 10, what: `${pattern} on the screen` }).catch((error) => { throw new Error(`${error.message}:\n${this.text.slice(-2000)}`); });
    const found = this.text.slice(this.from).match(pattern);
    this.from += found.index + found[0].length;
    return found;
  }
  prompt(agent = "assistant") { return this.see(new RegExp(`${agent}> `)); }
}

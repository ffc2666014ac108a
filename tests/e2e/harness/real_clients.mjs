// The real Claude Code and Codex, named by CRU_TEST_CLAUDE and CRU_TEST_CODEX, offline: their model is a scripted server
// on loopback, their home the project's.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ModelServer } from "../fixtures/model_server.mjs";
import { patience, sleep, waitFor } from "./basics.mjs";
import { codex_bin } from "./codex.mjs";
import { hostedProject } from "./hosts.mjs";

export const claude_bin = process.env.CRU_TEST_CLAUDE;
export const needs_claude = { skip: !claude_bin && "CRU_TEST_CLAUDE names no claude" };
export { needs_codex } from "./codex.mjs";

const key = "sk-ant-api03-loopback-0000000000000000000";
const textOf = (content) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n"));

/// A model that does what the newest message `PLAN name` says: `plans[name]` is a list of replies, one a turn, the last for
/// all that follows. What has no plan is answered with a word. Tools are in the client's own words.
export async function plannedModel(plans, t) {
  const model = await ModelServer.start({ is_strict: false }, t);
  return model.script(({ messages }) => {
    const at = messages.findLastIndex(({ role, content }) => role === "user" && /PLAN \w/.test(textOf(content)));
    if (at < 0) return { text: "ok" };
    // After a failure claude joins what was said since the last reply to one message.
    const plan = plans[[...textOf(messages[at].content).matchAll(/PLAN (\w+)/g)].at(-1)[1]];
    // What Codex says and calls in one turn are several items.
    const turn = messages.slice(at).filter(({ role }, n, all) => role === "assistant" && all[n - 1]?.role !== "assistant").length;
    const reply = plan[Math.min(turn, plan.length - 1)];
    return typeof reply === "function" ? reply() : reply;
  });
}

/// A project with our hooks, whose time is the test's: the programs keep a time of their own too, so theirs is made longer.
export async function realProject(t, model, options = {}) {
  const project = await hostedProject(t, options);
  const lengthen = (file, pattern) => writeFileSync(file, readFileSync(file, "utf8").replace(pattern, (_, head) => `${head}${patience / 1000}`));
  lengthen(project.path(".claude/settings.json"), /("timeout": ?)\d+/g);
  const config = join(project.home, ".codex/config.toml");
  lengthen(config, /( hook (?!session-end)[^"]*", timeout = )\d+/g);  // Codex gives no SessionEnd more than three seconds
  writeFileSync(config, `model = "gpt-5.5"\nmodel_provider = "loopback"\ncheck_for_update_on_startup = false\n\n${readFileSync(config, "utf8")}
[model_providers.loopback]\nname = "loopback"\nbase_url = "${model.url}/v1"\nenv_key = "LOOPBACK_KEY"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0

[analytics]\nenabled = false\n\n[tui]\nscreen_reader_detection_done = true\n\n[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n\n[projects."${project.root}"]\ntrust_level = "trusted"\n`);
  project.real_env = { ...settleClaude(project, model), LOOPBACK_KEY: "loopback", IS_SANDBOX: "1" };
  return project;
}

/// A home in which Claude Code asks nothing and talks to nobody but the model: no onboarding, no question of trust, the key
/// approved by its last 20 characters. What it needs in its environment.
export function settleClaude({ home, root }, model) {
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, projectOnboardingSeenCount: 9, enableAllProjectMcpServers: true, enabledMcpjsonServers: ["cru"], allowedTools: [] };
  writeFileSync(join(home, ".claude.json"), JSON.stringify({
    hasCompletedOnboarding: true, lastOnboardingVersion: "99.0.0", theme: "dark", numStartups: 5, autoUpdates: false, bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] }, projects: { [root]: trusted },
  }));
  mkdirSync(join(home, ".claude"), { recursive: true });
  const env = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DISABLE_BUG_COMMAND: "1", MCP_TIMEOUT: String(patience), MCP_TOOL_TIMEOUT: String(patience) };
  writeFileSync(join(home, ".claude/settings.json"), JSON.stringify({ env, enableAllProjectMcpServers: true, skipDangerousModePermissionPrompt: true, permissions: { defaultMode: "bypassPermissions" } }));
  return { ...env, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: key };
}

/// `claude -p` and `codex exec` as children; what they were told to do is `PLAN name`.
export const claudeOf = (project, plan, ...more) => project.spawn(["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", ...more, `PLAN ${plan}`], { argv0: claude_bin, env: project.real_env });
export const codexOf = (project, plan) => project.spawn(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", `PLAN ${plan}`], { argv0: codex_bin, env: project.real_env });

/// A program at a terminal of its own. `say` types until something comes of it: what is typed before the program reads may be
/// lost, and a line that comes all at once is taken for a paste.
export class AtTerminal {
  constructor(project, bin, ...words) {
    const line = [bin, ...words].map((word) => `'${word}'`).join(" ");
    this.child = project.spawn(["-qec", `stty rows 50 cols 160; exec ${line}`, "/dev/null"], { argv0: "script", env: { ...project.real_env, TERM: "xterm-256color" }, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdin.on("error", () => {});
  }
  async say(text, done) {
    const end = Date.now() + patience;
    for (;;) {
      this.child.stdin.write(`\x15${text}`);
      await sleep(500);
      this.child.stdin.write("\r");
      const came = await waitFor(done, { within: 8000, what: text }).catch((error) => { if (Date.now() > end) throw new Error(`${error.message}\n${this.child.text.stdout.slice(-4000)}`); });
      if (came) return came;
    }
  }
}

/// The tools of cru, and an edit, as each program has them.
export const claudes = {
  cru: (name, input) => ({ tools: [{ name: `mcp__cru__${name}`, input }] }),
  edit: (project, file) => ({ tools: [{ name: "Write", input: { file_path: project.path(file), content: "by claude\n" } }] }),
};
export const codexs = {
  cru: (name, input) => ({ tools: [{ name, namespace: "mcp__cru", input }] }),
  edit: (_, file) => ({ tools: [{ name: "apply_patch", input: `*** Begin Patch\n*** Add File: ${file}\n+by codex\n*** End Patch` }] }),
};

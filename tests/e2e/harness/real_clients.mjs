// The real Claude Code and Codex, named by CRU_TEST_CLAUDE and CRU_TEST_CODEX, offline: their model is a scripted server
// on loopback, their home the project's.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ModelServer } from "../fixtures/model_server.mjs";
import { patience } from "./basics.mjs";
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
    const plan = plans[textOf(messages[at].content).match(/PLAN (\w+)/)[1]];
    // What Codex says and calls in one turn are several items.
    const turn = messages.slice(at).filter(({ role }, n, all) => role === "assistant" && all[n - 1]?.role !== "assistant").length;
    const reply = plan[Math.min(turn, plan.length - 1)];
    return typeof reply === "function" ? reply() : reply;
  });
}

/// A project with our hooks, whose time is the test's: the programs keep a time of their own too, so theirs is made longer.
export async function realProject(t, model) {
  const project = await hostedProject(t);
  const lengthen = (file, pattern) => writeFileSync(file, readFileSync(file, "utf8").replace(pattern, (_, head) => `${head}${patience / 1000}`));
  lengthen(project.path(".claude/settings.json"), /("timeout": ?)\d+/g);
  const config = join(project.home, ".codex/config.toml");
  lengthen(config, /( hook (?!session-end)[^"]*", timeout = )\d+/g);  // Codex gives no SessionEnd more than three seconds
  writeFileSync(config, `model = "gpt-5.5"\nmodel_provider = "loopback"\ncheck_for_update_on_startup = false\n\n${readFileSync(config, "utf8")}
[model_providers.loopback]\nname = "loopback"\nbase_url = "${model.url}/v1"\nenv_key = "LOOPBACK_KEY"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0

[analytics]\nenabled = false\n\n[projects."${project.root}"]\ntrust_level = "trusted"\n`);
  // No onboarding, no question of trust, the key approved by its last 20 characters.
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, projectOnboardingSeenCount: 9, enableAllProjectMcpServers: true, enabledMcpjsonServers: ["cru"], allowedTools: [] };
  writeFileSync(join(project.home, ".claude.json"), JSON.stringify({
    hasCompletedOnboarding: true, lastOnboardingVersion: "99.0.0", theme: "dark", numStartups: 5, autoUpdates: false, bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] }, projects: { [project.root]: trusted },
  }));
  mkdirSync(join(project.home, ".claude"), { recursive: true });
  writeFileSync(join(project.home, ".claude/settings.json"), JSON.stringify({ enableAllProjectMcpServers: true, skipDangerousModePermissionPrompt: true, permissions: { defaultMode: "bypassPermissions" } }));
  project.real_env = {
    ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: key, LOOPBACK_KEY: "loopback", IS_SANDBOX: "1", MCP_TIMEOUT: String(patience), MCP_TOOL_TIMEOUT: String(patience),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1", DISABLE_ERROR_REPORTING: "1", DISABLE_BUG_COMMAND: "1",
  };
  return project;
}

/// `claude -p` and `codex exec` as children; what they were told to do is `PLAN name`.
export const claudeOf = (project, plan, ...more) => project.spawn(["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", ...more, `PLAN ${plan}`], { argv0: claude_bin, env: project.real_env });
export const codexOf = (project, plan) => project.spawn(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", `PLAN ${plan}`], { argv0: codex_bin, env: project.real_env });

/// The tools of cru, and an edit, as each program has them.
export const claudes = {
  cru: (name, input) => ({ tools: [{ name: `mcp__cru__${name}`, input }] }),
  edit: (project, file) => ({ tools: [{ name: "Write", input: { file_path: project.path(file), content: "by claude\n" } }] }),
};
export const codexs = {
  cru: (name, input) => ({ tools: [{ name, namespace: "mcp__cru", input }] }),
  edit: (_, file) => ({ tools: [{ name: "apply_patch", input: `*** Begin Patch\n*** Add File: ${file}\n+by codex\n*** End Patch` }] }),
};

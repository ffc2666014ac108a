// `cru hooks install` and `uninstall`: added to a person's own files, and taken away again to the byte.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { test } from "node:test";
import { Project } from "./harness.mjs";
import { with_cru } from "./harness/standin.mjs";

const odd = {
  "tabs and an odd order": '{\n\t"zeta" : [1,2 ,\t3],\n\n\t"hooks":{"Stop":[ {"hooks":[{"type":"command","command":"mine.sh"}]} ]},\n\t"alpha":{ }\n}\n\n\n',
  "one line, no line break at its end": '{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"check \\"it\\""}]}]}}',
  "CRLF and escapes": '{\r\n    "name": "caf\\u00e9 \\/ \u{1F600}",\r\n    "n": 1.50e+3\r\n}\r\n',
  "empty object": "{}",
  "empty lists": '{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
  "blanks before and after": '  \n{\n "a":1 }  ',
};
const settings = (project) => project.path(".claude/settings.json");
const servers = (project) => project.path(".mcp.json");
const put = (file, text) => { mkdirSync(dirname(file), { recursive: true }); writeFileSync(file, text); };

for (const [what, text] of Object.entries(odd)) {
  test(`installed into ${what} and taken out again, the file is the same to the byte`, async (t) => {
    const project = new Project(with_cru);
    t.after(() => project.close());
    put(settings(project), text);
    const dry = await project.cru("hooks", "install", "--dry-run");
    assert.equal(dry.code, 0, JSON.stringify(dry));
    assert.match(dry.stdout, /^\+.*hook session-start/m, "shows the difference");
    assert.equal(readFileSync(settings(project), "utf8"), text, "a dry run changes nothing");
    assert.ok(!existsSync(servers(project)));
    const done = await project.cru("hooks", "install");
    assert.equal(done.code, 0, JSON.stringify(done));
    assert.match(done.stderr, /installed; agents that you start from now on are connected/);
    const after = JSON.parse(readFileSync(settings(project), "utf8"));
    const before = JSON.parse(text);
    for (const key of Object.keys(before).filter((key) => key !== "hooks")) assert.deepEqual(after[key], before[key], key);
    for (const [event, groups] of Object.entries(before.hooks ?? {})) assert.deepEqual(after.hooks[event].slice(0, groups.length), groups, `${event}: appended`);
    for (const event of ["SessionStart", "SessionEnd", "PreToolUse"]) {
      const ours = after.hooks[event].flatMap(({ hooks }) => hooks).filter(({ command }) => /cru hook /.test(command));
      assert.equal(ours.length, 1, event);
      assert.ok(ours[0].timeout > 0 && ours[0].type === "command");
    }
    assert.deepEqual(readdirSync(project.path(".claude")), ["settings.json"], "nothing else that git would see");
    const backups = readdirSync(project.path(".coven/backups")).map((name) => readFileSync(project.path(".coven/backups", name), "utf8"));
    assert.ok(backups.includes(text), "a copy of what was there");
    const installed = readFileSync(settings(project), "utf8");
    assert.equal((await project.cru("hooks", "install")).code, 0);
    assert.equal(readFileSync(settings(project), "utf8"), installed, "twice is once");
    const status = await project.cru("hooks", "status");
    assert.equal(status.code, 0, JSON.stringify(status));
    assert.match(status.stdout, /installed/);
    assert.equal((await project.cru("hooks", "uninstall", "--dry-run")).code, 0);
    assert.equal(readFileSync(settings(project), "utf8"), installed);
    assert.equal((await project.cru("hooks", "uninstall")).code, 0);
    assert.equal(readFileSync(settings(project), "utf8"), text, "byte for byte");
    assert.ok(!existsSync(servers(project)), "what it made alone is gone");
  });
}

test("where there was nothing, nothing is left; .mcp.json keeps its other servers", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  assert.equal((await project.cru("hooks", "install")).code, 0);
  const { mcpServers } = JSON.parse(readFileSync(servers(project), "utf8"));
  assert.deepEqual([mcpServers.cru.type, mcpServers.cru.args], ["stdio", ["mcp"]]);
  assert.equal((await project.cru("hooks", "uninstall")).code, 0);
  assert.ok(!existsSync(dirname(settings(project))) && !existsSync(servers(project)), "nor an empty folder");
  const mine = '{ "mcpServers" : {\n "demo":{"command":"demo"} } }';
  put(servers(project), mine);
  assert.equal((await project.cru("hooks", "install")).code, 0);
  const both = JSON.parse(readFileSync(servers(project), "utf8")).mcpServers;
  assert.deepEqual(Object.keys(both).sort(), ["cru", "demo"]);
  assert.equal((await project.cru("hooks", "uninstall")).code, 0);
  assert.equal(readFileSync(servers(project), "utf8"), mine);
});

test("an entry for cru that a person wrote by hand stays as it is", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  const mine = '{"mcpServers":{"cru":{"command":"cru","args":["mcp"],"env":{"AGENT_ID":"ada"}}}}';
  put(servers(project), mine);
  assert.equal((await project.cru("hooks", "install")).code, 0);
  assert.equal(readFileSync(servers(project), "utf8"), mine);
  assert.match((await project.cru("hooks", "status")).stdout, /by hand/);
  assert.equal((await project.cru("hooks", "uninstall")).code, 0);
  assert.equal(readFileSync(servers(project), "utf8"), mine);
});

test("in a person's own settings, and in Codex' configuration, it is the same", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  const files = { "--user": [join(project.home, ".claude/settings.json"), '{"model":"opus"}'], "--codex": [null, '# mine\nmodel = "gpt"  # no line break here'] };
  for (const [flag, [known, text]] of Object.entries(files)) {
    if (known) put(known, text);
    const dry = await project.cru("hooks", "install", flag, "--dry-run");
    assert.equal(dry.code, 0, JSON.stringify(dry));
    const file = known ?? dry.stdout.match(/\S*config\.toml/)[0].replace(/^[ab]\//, "");
    const path = isAbsolute(file) ? file : project.path(file);
    assert.ok(path.startsWith(project.root), `${path}: nothing outside this test is touched`);
    put(path, text);
    assert.equal((await project.cru("hooks", "install", flag)).code, 0);
    const installed = readFileSync(path, "utf8");
    assert.ok(installed !== text && /cru/.test(installed), installed);
    assert.match((await project.cru("hooks", "status", flag)).stdout, /installed/);
    assert.equal((await project.cru("hooks", "uninstall", flag)).code, 0);
    assert.equal(readFileSync(path, "utf8"), text, flag);
  }
});

test("what a person changed after the installation stays", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  assert.equal((await project.cru("hooks", "install")).code, 0);
  const text = JSON.parse(readFileSync(settings(project), "utf8"));
  text.hooks.Stop.unshift({ hooks: [{ type: "command", command: "mine.sh" }] });
  text.model = "opus";
  put(settings(project), JSON.stringify(text, null, 4));
  assert.equal((await project.cru("hooks", "uninstall")).code, 0);
  assert.deepEqual(JSON.parse(readFileSync(settings(project), "utf8")), { hooks: { Stop: [{ hooks: [{ type: "command", command: "mine.sh" }] }] }, model: "opus" });
});

test("a settings file that is no JSON is left alone, with a word about where it is wrong", async (t) => {
  const project = new Project(with_cru);
  t.after(() => project.close());
  for (const text of ['{"hooks": ', "// mine\n{}\n", '{"hooks": []}', "[1]", ""]) {
    put(settings(project), text);
    const told = await project.cru("hooks", "install");
    if (text === "" && told.code === 0) continue;  // an empty file may be taken for none
    assert.notEqual(told.code, 0, `${text}: ${JSON.stringify(told)}`);
    assert.match(told.stderr, /settings\.json/, "names the file");
    assert.equal(readFileSync(settings(project), "utf8"), text);
  }
});

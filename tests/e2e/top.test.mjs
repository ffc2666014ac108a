// `cru top` at a terminal: drawn again when something happens, with the time that it is then.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cru_bin, Project, waitFor } from "./harness.mjs";

/// The verb at a terminal of so many lines, and what the last drawing shows.
function watch(project, rows) {
  const child = project.spawn(["-qec", `stty rows ${rows} cols 100; exec '${cru_bin}' top`, "/dev/null"], { argv0: "script", env: { TERM: "xterm-256color", NO_COLOR: "1" } });
  const drawn = () => child.text.stdout.split("\x1b[H").at(-1);
  return { child, whole: () => (drawn().includes("\x1b[J") ? drawn().split("\x1b[J")[0].replaceAll("\x1b[K", "").replaceAll("\r", "") : "") };
}

test("what began after `cru top` was not to come: each drawing has its own time", async (t) => {
  const project = await Project.started({}, t);
  const { child, whole } = watch(project, 24);
  await waitFor(() => whole().startsWith("today:"), { what: "the first drawing" });
  await project.sh("early", "sleep 2");
  await project.ended("early");
  await project.sh("late", "read line");
  const page = await waitFor(() => /^late .*/m.test(whole()) && whole(), { what: "it is drawn" });
  assert.match(page, /^late .* (now|\d+s ago) /m);
  assert.doesNotMatch(page, / in \d+s /, page);
  child.kill("SIGINT");
});

test("a short terminal has as many lines as it has, and says how many are left out", async (t) => {
  const project = await Project.started({}, t);
  for (let n = 0; n < 12; ++n) await project.sh(`run-${n}`, "read line");
  for (const rows of [10, 24]) {
    const { child, whole } = watch(project, rows);
    const page = await waitFor(() => whole().includes("run-") && whole(), { what: `a drawing of ${rows} lines` });
    const lines = page.trimEnd().split("\n");
    assert.ok(lines.length < rows, page);
    if (rows === 10) assert.match(lines.at(-1), /^and 6 more: see cru top --once$/, page);
    else assert.equal(lines.filter((line) => line.startsWith("run-")).length, 12, page);
    child.kill("SIGINT");
  }
});

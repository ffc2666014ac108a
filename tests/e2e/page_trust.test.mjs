// Files of the project that wait for trust, on the page: in the inbox, with what is new in them.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { patience, Project, waitFor } from "./harness.mjs";

const flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const team = (more = "") => `team: t\nagents:\n  - {name: mole, role: worker, capabilities: [], description: digs}\n${more}`;

test("what waits for trust is in the inbox with its difference, and is trusted or put off there", async (t) => {
  const project = new Project({ config: "models:\n  lead: {provider: scripted}\n" });
  t.after(() => project.close());
  writeFileSync(project.path(".crucible/teams.yaml"), team());
  await project.startDaemon({ trusted: false });
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: flags, timeout: patience });
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1360, height: 820 }, reducedMotion: "reduce" });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(await project.link());

  const card = page.getByRole("region", { name: "Files that need your trust" });
  await card.getByText("2 files could run commands").waitFor();
  await card.getByText("It defines the model lead.").waitFor();
  await card.getByText(".crucible/teams.yaml").click();
  await card.getByText("+  - {name: mole, role: worker").waitFor();
  assert.equal(await page.getByText("Nothing needs you.").count(), 0);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);

  await card.getByRole("button", { name: "Not now" }).click();
  await page.getByText("Nothing needs you.").waitFor();
  assert.equal((await project.get("/trust")).json.waiting.length, 2, "it still waits");
  // Something else: it is asked again, without a reload.
  writeFileSync(project.path(".crucible/teams.yaml"), team("# <b>new</b>\n"));
  await card.getByRole("button", { name: "Trust", exact: true }).waitFor();
  await card.getByText(".crucible/teams.yaml").click();
  await card.getByText("+# <b>new</b>").waitFor();
  await card.getByRole("button", { name: "Trust", exact: true }).click();
  await page.getByText("Nothing needs you.").waitFor();
  const { waiting, trusted } = (await project.get("/trust")).json;
  assert.deepEqual([waiting, trusted.map(({ path }) => path).sort()], [[], [".crucible/config.yaml", ".crucible/teams.yaml"]]);

  // What changes later comes with its difference.
  writeFileSync(project.path(".crucible/teams.yaml"), team("# <b>newer</b>\n"));
  await card.getByText(".crucible/teams.yaml").click();
  await card.getByText("-# <b>new</b>", { exact: true }).waitFor();
  await waitFor(async () => (await card.locator(".is-added").allTextContents()).join("").trim() === "+# <b>newer</b>", { what: "only what is new" });
  assert.deepEqual(complaints, []);
});

// Approvals on the page: in the inbox, with the difference, the form, the typed confirmation, from the keyboard.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { patience, waitFor } from "./harness.mjs";
import { cast, told } from "./harness/cast.mjs";

const flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("SA-53, SA-54, SA-55, SA-57: on the page a person sees the difference, asks, changes, approves with a typed id, and denies with a reason", async (t) => {
  const tools = [{ name: "edit_file", input: { path: "kept.txt", old: "two", new: "zwei" } }, { name: "run_command", input: { argv: ["sh", "-c", "echo ran > ran.txt"] } }, { name: "write_file", input: { path: "no.txt", content: "no\n" } }];
  const part = ({ turn, text }) => (/the person asks:/.test(text) ? { text: "For our German readers." } : turn === 0 ? { text: "I change it.", tools } : { text: "done" });
  const { crew, asked } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "ProcessSpawn"], requires_approval: ["FilesystemWrite"] } }, notes: { "kept.txt": "one\ntwo\nthree\n" } });
  const chat = await crew.chat({ agent: "careful", message: "please" }, { wait: false });
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: flags, timeout: patience });
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce" });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(await crew.link());

  const first = page.getByRole("listitem", { name: "Approval A-1" });
  await first.getByText("edit kept.txt").waitFor();
  await first.getByText("+zwei").waitFor();
  await first.getByText("reversible", { exact: true }).waitFor();
  await first.getByText(/left, then it expires/).waitFor();
  await page.getByRole("button", { name: "1 needs you" }).waitFor();
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-diff.png` });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  await first.getByLabel("Reason or question for A-1").fill("Why German?");
  await first.getByRole("button", { name: "Ask" }).click();
  await first.getByText("For our German readers.").waitFor();
  await first.getByRole("button", { name: "Hold" }).click();
  await first.getByText(/held; the clock stands still/).waitFor();
  await first.getByText("Change it first").click();
  await first.getByLabel("new").fill("deux");
  await first.getByRole("button", { name: "Approve with changes" }).press("Enter");

  const second = page.getByRole("listitem", { name: "Approval A-2" });
  await second.getByText("irreversible", { exact: true }).waitFor();
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\ndeux\nthree\n");
  const approve = second.getByRole("button", { name: "Approve" });
  assert.ok(await approve.isDisabled());
  await second.getByLabel(/Type A-2/).fill("A-1");
  assert.ok(await approve.isDisabled());
  await second.getByLabel(/Type A-2/).fill("A-2");
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-command.png` });
  await approve.press("Enter");

  const third = page.getByRole("listitem", { name: "Approval A-3" });
  await third.getByLabel("Reason or question for A-3").fill("not here");
  await third.getByLabel("Reason or question for A-3").press("Enter");
  await chat.idle();
  assert.equal(readFileSync(crew.path("ran.txt"), "utf8"), "ran\n");
  assert.ok(!existsSync(crew.path("no.txt")));
  assert.match(told(asked("careful").filter(({ text }) => !/the person asks:/.test(text))).at(-1).text, /denied by a person: not here/);
  await page.getByText("Nothing needs you.").waitFor();
  await waitFor(() => complaints.length === 0, { what: `nothing went wrong: ${complaints}` });
});

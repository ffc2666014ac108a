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
  // The link of a notification opens it in another tab of the same browser; in another browser nobody is signed in.
  const link = `${new URL(page.url()).origin}/#approval=A-1`;
  const beside = await context.newPage();
  await beside.goto(link);
  await beside.getByRole("listitem", { name: "Approval A-1" }).getByText("+zwei").waitFor();
  await beside.close();
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(link);
  await stranger.getByRole("heading", { name: "This page needs a link from the project." }).waitFor();
  await stranger.close();
  await first.getByText("+zwei").waitFor();
  await first.getByText("can be undone", { exact: true }).waitFor();
  await first.getByText(/left, then it expires/).waitFor();
  await page.getByRole("button", { name: "1 needs you" }).waitFor();
  await first.getByText("started by you · asks for approval A-1").waitFor();
  await first.getByText("Task: please").waitFor();
  await waitFor(async () => /^The agent waits for you/.test(await page.getByLabel("Your message").getAttribute("placeholder") ?? ""), { what: "the chat says that it waits for a person" });
  // All that decides is in view, also on a low screen.
  await page.setViewportSize({ width: 1360, height: 820 });
  for (const name of ["Approve", "Deny", "Ask", "Hold"]) {
    const { x, y, width, height } = await first.getByRole("button", { name, exact: true }).boundingBox();
    const inbox = await page.getByLabel("Waiting for you").boundingBox();
    assert.ok(x + width <= inbox.x + inbox.width, `${name} is beyond the edge: ${x + width} of ${inbox.x + inbox.width}`);
    assert.ok(y + height <= Math.min(820, inbox.y + inbox.height), `${name} is below the fold: ${y + height} of ${inbox.y + inbox.height}`);
  }
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-diff.png` });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  await first.getByLabel("Reason or question for A-1").fill("Why German?");
  await first.getByRole("button", { name: "Ask" }).click();
  await first.getByText("For our German readers.").waitFor();
  await first.getByRole("button", { name: "Hold" }).click();
  await first.getByText(/held; the timeout is paused/).waitFor();
  await first.getByText("Change it first").click();
  await first.getByLabel("new").fill("deux");
  assert.ok(await first.getByRole("button", { name: "Approve with changes" }).isDisabled(), "not before it was shown");
  await first.getByRole("button", { name: "Show what it would do" }).click();
  await first.getByLabel("What A-1 with these changes would do").getByText("+deux").waitFor();
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-change.png` });
  await first.getByRole("button", { name: "Approve with changes" }).press("Enter");

  const second = page.getByRole("listitem", { name: "Approval A-2" });
  await second.getByText("not known whether it can be undone", { exact: true }).waitFor();
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
  assert.equal((await crew.get("/approvals/A-3")).json.status, "pending", "Enter decides nothing: it may be a question");
  await third.getByRole("button", { name: "Deny" }).press("Enter");
  await chat.idle();
  assert.equal(readFileSync(crew.path("ran.txt"), "utf8"), "ran\n");
  assert.ok(!existsSync(crew.path("no.txt")));
  assert.match(told(asked("careful").filter(({ text }) => !/the person asks:/.test(text))).at(-1).text, /denied by a person: not here/);
  await page.getByText("Nothing needs you.").waitFor();
  await waitFor(() => complaints.length === 0, { what: `nothing went wrong: ${complaints}` });
});

test("on the page a rule is shown before it is made, decides, and is revoked; a long difference folds; a link opens an approval; the desktop is told if the person wants that", async (t) => {
  const long = Array.from({ length: 500 }, (_, i) => `line ${i}`).join("\n");
  const writing = (path, content = "made\n") => ({ name: "write_file", input: { path, content } });
  const tools = [writing("docs/long.md", `${long}\n`), writing("docs/b.md"), writing("src/c.md"), writing("src/d.md")];
  const part = ({ turn }) => (turn < tools.length ? { text: "I write.", tools: [tools[turn]] } : { text: "done" });
  const { crew } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] } } });
  const chat = await crew.chat({ agent: "careful", message: "please" }, { wait: false });
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: flags, timeout: patience });
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce" });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  // A desktop that grants and keeps what it is told.
  await page.addInitScript(() => {
    globalThis.told = [];
    globalThis.Notification = class {
      static permission = "default";
      static async requestPermission() { return (this.permission = "granted"); }
      constructor(title, options) { globalThis.told.push({ title, ...options, notification: this }); }
      close() {}
    };
  });
  await waitFor(async () => (await crew.get("/approvals?pending=true")).json.approvals[0], { what: "an approval waits" });
  await page.goto(`${await crew.link()}&approval=A-1`);

  const first = page.getByRole("listitem", { name: "Approval A-1" });
  await first.getByText("create docs/long.md").waitFor();
  await waitFor(() => first.evaluate((card) => card === document.activeElement), { what: "the link's approval has the focus" });
  assert.equal(await first.getByText("+line 499").count(), 0, "more than 400 lines fold");
  await first.getByText("461 more lines of 501").press("Enter");
  await first.getByText("+line 499").waitFor();
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-long.png` });
  await page.getByRole("button", { name: "Notify me on the desktop" }).press("Enter");
  await page.getByRole("button", { name: "Desktop notifications are on", pressed: true }).waitFor();

  await first.getByText("Decide this from now on").press("Enter");
  await first.getByLabel(/^Covers/).fill("docs/**");
  assert.equal(await first.getByRole("button", { name: "Approve and make this rule" }).count(), 0, "not before it was shown");
  await first.getByRole("button", { name: "Show what it covers" }).press("Enter");
  await first.getByText(/This rule allows the agent careful to change files that match docs\/\*\*, in this session only/).waitFor();
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-rule.png` });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  await first.getByLabel("For", { exact: true }).selectOption("project");
  assert.equal(await first.getByRole("button", { name: "Approve and make this rule" }).count(), 0, "what was shown is another rule");
  await first.getByRole("button", { name: "Show what it covers" }).press("Enter");
  await first.getByText(/allows the agent careful to change files that match docs\/\*\*, in the project/).waitFor();
  await first.getByRole("button", { name: "Approve and make this rule" }).press("Enter");

  const third = page.getByRole("listitem", { name: "Approval A-3" });
  await third.getByText("create src/c.md").waitFor();
  assert.equal((await crew.get("/approvals/A-2")).json.decided_by, "rule");
  assert.ok(existsSync(crew.path("docs/b.md")));
  await waitFor(() => page.evaluate(() => globalThis.told.some(({ title, body }) => title === "careful needs your approval A-3" && body === "create src/c.md")), { what: "the desktop is told" });
  assert.equal(await page.evaluate(() => globalThis.told.filter(({ tag }) => tag !== "A-3").length), 0, "of nothing that was there, or that a rule decided");
  await page.evaluate(() => globalThis.told[0].notification.onclick());
  await waitFor(() => third.evaluate((card) => card === document.activeElement), { what: "the notification opens it" });

  await page.getByText("1 rule decides for you").press("Enter");
  const [{ id: rule }] = (await crew.get("/approval-rules")).json.rules;
  if (process.env.CRU_SHOTS) await page.screenshot({ path: `${process.env.CRU_SHOTS}/approval-rules.png` });
  await page.getByRole("button", { name: `Revoke ${rule}` }).press("Enter");
  await page.getByRole("button", { name: `Revoke it ${rule}` }).press("Enter");
  await page.getByText("1 rule decides for you").waitFor({ state: "detached" });
  assert.deepEqual((await crew.get("/approval-rules")).json.rules, []);

  await third.getByRole("button", { name: "Approve", exact: true }).press("Enter");
  await page.getByRole("listitem", { name: "Approval A-4" }).getByRole("button", { name: "Deny" }).press("Enter");
  await chat.idle();
  await page.evaluate(() => { location.hash = "#approval=A-2"; });
  await page.getByRole("status").getByText(/A-2 \(create docs\/b\.md\): approved by the rule R-/).waitFor();
  await waitFor(() => complaints.length === 0, { what: `nothing went wrong: ${complaints}` });
});

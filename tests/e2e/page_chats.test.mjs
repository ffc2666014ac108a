// The page's view of chats with a real daemon: a chat begun there, its subagent's card, the answer as it comes.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { patience, repository } from "./harness.mjs";
import { Crew } from "./harness/crew.mjs";

const pictures = join(repository, "build/pictures");
mkdirSync(pictures, { recursive: true });

test("SA-47: a chat on the page shows its subagents and the answer that weaves them in", async (t) => {
  const lead = { replies: [{ when: { turn: 1 }, say: "I ask the explorer.", tools: [{ name: "spawn_agent", input: { agent: "explorer", task: "look at the login", model: "worker" } }] }], otherwise: { say: "**All** is well: see the report." } };
  const worker = { otherwise: { say: "## Summary\nNothing is wrong.\n\n## Findings\nNothing." } };
  const crew = await Crew.started({ models: { lead: "lead", worker: "worker" }, settings: { crew: { default_model: "lead" } }, scripts: { lead, worker } }, t);
  const chat = await crew.chat({ message: "Is the login well?" });
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"], timeout: patience });
  t.after(() => browser.close());
  const page = await (await browser.newContext({ viewport: { width: 1360, height: 820 }, colorScheme: "dark" })).newPage();
  page.setDefaultTimeout(patience);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(await crew.link());
  await page.keyboard.press("6");
  await page.getByText("Is the login well?").first().click();
  const transcript = page.getByTestId("transcript");
  await transcript.getByText("is well: see the report.").waitFor();
  await transcript.getByText("Nothing is wrong.").locator("visible=true").first().waitFor();
  await page.screenshot({ path: join(pictures, "chat.png") });
  await page.getByLabel("Your message").fill("And now?");
  await page.keyboard.press("Enter");
  await transcript.getByText("And now?").waitFor();
  await chat.heard("chat.entry", ({ text }) => text === "And now?");
  await page.keyboard.press("Escape");
  assert.deepEqual(complaints, []);
});

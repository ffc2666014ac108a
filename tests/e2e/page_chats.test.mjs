// The page's view of chats with a real daemon: a chat begun there, its subagent's card, the answer as it comes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Crew } from "./harness/crew.mjs";
import { openPage, picture, rowOf } from "./harness/browser.mjs";

test("SA-47: a chat on the page shows its subagents and the answer that weaves them in", async (t) => {
  const lead = { replies: [{ when: { turn: 1 }, say: "I ask the explorer.", tools: [{ name: "spawn_agent", input: { agent: "explorer", task: "look at the login", model: "worker" } }] }], otherwise: { say: "**All** is well: see the report." } };
  const worker = { otherwise: { say: "## Summary\nNothing is wrong.\n\n## Findings\nNothing." } };
  const crew = await Crew.started({ models: { lead: "lead", worker: "worker" }, settings: { crew: { default_model: "lead" } }, scripts: { lead, worker } }, t);
  const chat = await crew.chat({ message: "Is the login well?" });
  const { page, complaints } = await openPage(await crew.link(), t);
  await rowOf(page, "assistant").getByText("Is the login well?").click();
  const transcript = page.getByTestId("transcript");
  await transcript.getByText("is well: see the report.").waitFor();
  await transcript.getByText("Nothing is wrong.").locator("visible=true").first().waitFor();
  await page.screenshot({ path: picture("chat") });
  await page.getByLabel("Your message").fill("And now?");
  await page.keyboard.press("Enter");
  await transcript.getByText("And now?").waitFor();
  await chat.heard("chat.entry", ({ text }) => text === "And now?");
  await page.keyboard.press("Escape");
  assert.deepEqual(complaints, []);
});

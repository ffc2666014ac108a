// The trace of a chat on the page: a tree and its timeline, by keyboard too.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent } from "./harness.mjs";
import { cast, report, spawning } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";
import { narrow, openPage, overflowOf, picture, rowOf, violationsOf } from "./harness/browser.mjs";

test("a trace is a tree with a timeline, in which failures stand out and the arrow keys lead", async (t) => {
  const { crew } = await cast(t, {
    assistant: [{ text: "I verify the login fix.", tools: [spawning("explorer", "find it"), spawning("tester", "test it")], usage: { input: 1000, output: 100 } }, { text: "One failed.", usage: { input: 10, output: 1 } }],
    explorer: { text: report("Found it."), usage: { input: 500, output: 50 } },
    tester: { status: 400, error: { type: "invalid_request_error", message: "the prompt is bad" } },
  });
  await crew.chat({ message: "Check the login." });
  const { page, complaints } = await openPage(await crew.link(), t);
  await rowOf(page, "assistant").getByText("Check the login.").click();
  await page.getByRole("tab", { name: "Trace" }).click();
  const tree = page.getByRole("tree", { name: "Trace" });
  const row = (name) => tree.getByRole("treeitem", { name });
  await row(/#2 tester, failed/).waitFor();
  await row(/^assistant, .*1\.1k tok.*\(1\.7k tok/).waitFor();
  assert.equal(await tree.getByRole("treeitem").count(), 3);
  assert.equal(await row(/#2 tester/).getAttribute("aria-level"), "2");
  await row(/^assistant/).focus();
  for (const key of ["ArrowDown", "ArrowDown"]) await page.keyboard.press(key);
  await page.getByRole("region", { name: /Details of #2 tester/ }).getByText(/the prompt is bad.*I verify the login fix/).waitFor();
  await page.screenshot({ path: picture("trace") });
  for (const key of ["ArrowLeft", "ArrowLeft"]) await page.keyboard.press(key);
  await row(/#2 tester/).waitFor({ state: "detached" });
  assert.equal(await row(/^assistant/).getAttribute("aria-expanded"), "false");
  await page.keyboard.press("ArrowRight");
  await row(/#1 explorer/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.setViewportSize(narrow);
  assert.equal(await overflowOf(page), 0);
  await page.screenshot({ path: picture("trace-narrow") });
  assert.deepEqual(complaints, []);
});

test("a work item on the board has its trace", async (t) => {
  const crew = await Crew.started({}, t);
  const ada = new Agent(crew, "ada");
  await ada.ask("submit_work", { task_type: "fix", description: "Fix the lexer", task_id: "fix-1" });
  const claim = await ada.ask("get_work");
  await ada.ask("complete_work", { task_id: "fix-1", success: false, error_message: "it does not parse", fencing_token: claim.fencing_token });
  const { page, complaints } = await openPage(await crew.link(), t);
  await rowOf(page, "ada").waitFor();
  await page.keyboard.press("2");
  await page.getByText("More about fix-1").click();
  await page.getByRole("button", { name: "Trace of fix-1" }).click();
  const tree = page.getByRole("region", { name: "Trace of fix-1" }).getByRole("tree", { name: "Trace" });
  await tree.getByRole("treeitem", { name: /#1 ada, failed/ }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.screenshot({ path: picture("trace-work") });
  await page.setViewportSize(narrow);
  assert.equal(await overflowOf(page), 0);
  await page.getByRole("button", { name: "Close" }).click();
  await tree.waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

// Auto mode as people read it: the list and the transcript at a terminal of 80 columns, and the transcript on the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { models, startedAuto, talkers, written } from "./harness/auto.mjs";
import { openPage } from "./harness/browser.mjs";
import { Terminal } from "./harness/terminal.mjs";

const quick = { min_speech_time: "20ms", speech_per_character: "0ms", scripted_delay: "10ms", idle_time: "1h" };

/// What a verb shows at a terminal of 80 columns, line by line.
async function shown(live, ...args) {
  const terminal = new Terminal(live, args, { columns: 80 });
  const { code } = await terminal.child.ended;
  assert.equal(code, 0, terminal.text);
  return terminal.text.split("\n");
}

test("at 80 columns the list gives the topic room, and a transcript is broken between words", async (t) => {
  const live = await startedAuto({ live: quick }, t);
  const topic = "Should every desk have a plant on it?";
  const { conversationId } = await live.must(201, live.post("/auto/start", { topic, interaction_pattern: "stay-at-desk" }));
  const { messages } = await written(live, conversationId);

  const [, row] = await shown(live, "auto");
  assert.match(row, /Should every desk have a plant on i/, "the topic can be read");
  const id = row.split(" ")[0];
  assert.match(id, /^[0-9a-f]{6}$/, "of the id as much as is enough to type");
  assert.ok(conversationId.endsWith(id));

  const lines = await shown(live, "auto", "show", id);
  assert.ok(lines.every((line) => line.length <= 80), lines.find((line) => line.length > 80));
  // Joined again, every message is there with its words whole.
  const text = lines.join(" ").replaceAll(/\s+/g, " ");
  for (const message of messages) assert.ok(text.includes(`${message.name}: ${message.text}`), message.text);
  assert.ok(lines.length > messages.length * 3, "they do not fit on one line each");
  // In a pipe it stays as it is, for programs.
  assert.ok((await live.cru("auto", "show", id)).stdout.includes(`\n${messages[0].name}: ${messages[0].text}\n`));
  assert.ok((await live.cru("auto", "list")).stdout.includes(conversationId));
});

test("the transcript of a conversation in progress shows the newest message, also after a late reload, unless the reader has scrolled up", async (t) => {
  const minds = await talkers(t, ["There is more to say about this than fits on a line, and so it goes on. ".repeat(5)]);
  const live = await startedAuto({ minds, live: { ...quick, min_speech_time: "1500ms" } }, t);
  const { conversationId } = await live.must(201, live.post("/auto/start", { topic: "zoo", cli_backends: models, interaction_pattern: "stay-at-desk" }));
  const said = async () => (await live.must(200, live.get(`/auto/conversation?id=${conversationId}`))).messages;
  const { page } = await openPage(await live.link(), t, { size: { width: 1100, height: 480 } });
  await waitFor(async () => (await said()).length >= 8, { what: "more was said than fits into the box" });
  await page.reload();
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await page.keyboard.press("5");
  const list = page.getByRole("list", { name: "Transcript" });
  const place = () => list.evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({ top: scrollTop, left: scrollHeight - scrollTop - clientHeight, is_long: scrollHeight > clientHeight + 250, lines: document.querySelectorAll(".auto-lines li").length }));
  await waitFor(async () => { const { left, is_long } = await place(); return is_long && left < 2; }, { what: "the newest message is in view" });
  const before = (await place()).lines;
  await waitFor(async () => { const { left, lines } = await place(); return lines > before && left < 2; }, { what: "the next one is followed" });
  // Who reads what was said before is left alone.
  await list.evaluate((element) => { element.scrollTop = 0; });
  const then = (await place()).lines;
  await waitFor(async () => (await place()).lines > then, { what: "a further message" });
  assert.equal((await place()).top, 0);
  await live.must(200, live.post("/auto/stop", {}));
});

// Auto mode on the page, in a real browser with a real daemon.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Project, waitFor } from "./harness.mjs";
import { narrow, openPage, overflowOf, picture, rowOf, violationsOf } from "./harness/browser.mjs";

async function open(address, t, motion = "no-preference") {
  const opened = await openPage(address, t, { motion, size: { width: 1360, height: 1000 } });
  return { ...opened, ...(await look(opened.page)) };
}

async function look(page) {
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await page.keyboard.press("5");
  return {
    auto: page.getByTestId("auto"), panel: page.getByRole("region", { name: "Auto mode" }), map: page.getByTestId("map"),
    words: page.getByTestId("last-words"), transcript: page.getByRole("list", { name: "Transcript" }), cast: page.getByRole("list", { name: "Cast" }),
    isOn: (is_on) => waitFor(async () => (await page.getByTestId("auto").getAttribute("aria-pressed")) === String(is_on), { what: `the button is ${is_on ? "on" : "off"}` }),
  };
}

const quick = "live: {idle_time: 1h, min_speech_time: 100ms, speech_per_character: 1ms, scripted_delay: 20ms}\n";

test("AM-07, AM-08: the Auto button starts and stops, shows topic, cast and countdown, and keeps to the server in every tab", async (t) => {
  const project = await Project.started({ config: "live: {idle_time: 1h, min_speech_time: 2s, speech_per_character: 30ms}\n" }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  await at.isOn(false);
  await at.auto.click();
  await at.isOn(true);
  const { json: state } = await project.get("/auto");
  assert.equal(state.active, true);
  await at.panel.getByRole("heading", { name: state.topic }).waitFor();
  await at.panel.getByText(state.prompt).waitFor();
  await at.cast.getByRole("button", { name: "Ada, advocate" }).waitFor();
  await at.cast.getByRole("button", { name: "Bertrand, skeptic" }).waitFor();
  assert.match(await at.auto.textContent(), /^Auto [45]:\d\d$/);
  await at.transcript.getByText("Ada").first().waitFor();
  assert.deepEqual(await violationsOf(page), []);

  // A second tab and a reload show the same.
  const second = await at.context.newPage();
  await second.goto(await project.link());
  const there = await look(second);
  await there.isOn(true);
  await there.panel.getByRole("heading", { name: state.topic }).waitFor();
  await there.transcript.getByText("Ada").first().waitFor();
  await page.reload();
  await at.isOn(true);
  await at.transcript.getByText("Ada").first().waitFor();
  await page.screenshot({ path: picture("auto-mode") });

  // Stopped in one tab, it is over in both.
  await there.auto.click();
  await there.isOn(false);
  await at.isOn(false);
  assert.equal((await project.get("/auto")).json.reason, "user");
  await page.getByTestId("auto-ended").getByText(/it was stopped/).waitFor();
  assert.equal((await at.auto.textContent()).trim(), "Auto");

  // Ended by the server, it is over on the page.
  await at.auto.click();
  await at.isOn(true);
  await project.post("/auto/timeout", { duration_ms: 1 });
  await at.isOn(false);
  await there.isOn(false);
  await page.getByTestId("auto-ended").getByText(/its time was over/).waitFor();
  await page.setViewportSize(narrow);
  await page.screenshot({ path: picture("auto-mode-narrow"), fullPage: true });
  assert.equal(await overflowOf(page), 0);
  assert.deepEqual(at.complaints, []);
});

test("AM-03: the last message of an agent is shown when it is hovered, focused or selected", async (t) => {
  const project = await Project.started({ config: quick }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  await at.auto.click();
  await page.getByTestId("auto-ended").waitFor();  // the scripted ones come to an end
  const agents = (await project.get("/live")).json.agents;
  assert.ok(agents.every(({ last_message }) => last_message));
  await waitFor(async () => (await project.get("/live")).json.agents.every(({ walk, state }) => !walk && state === "idle"));
  const { cols } = (await project.get("/world")).json.layout;
  const [ada, bertrand] = (await project.get("/live")).json.agents;
  const box = await at.map.boundingBox();
  const tile = box.width / cols;
  const start = (text) => text.slice(0, 40);
  // Where it stands, on the map.
  await waitFor(async () => {
    await page.mouse.move(box.x + (ada.position.x + 0.5) * tile, box.y + (ada.position.y + 0.5) * tile);
    return (await at.words.count()) && (await at.words.textContent()).includes(start(ada.last_message));
  }, { what: "hovering shows its last words" });
  await page.mouse.move(5, 5);
  await at.words.waitFor({ state: "detached" });
  // In the list, which keyboards reach.
  const row = rowOf(page, bertrand.name, "Live agents");
  await row.focus();
  await row.getByText(start(bertrand.last_message)).waitFor();
  await row.click();
  await at.words.getByText(start(bertrand.last_message)).waitFor();
  await page.getByRole("region", { name: `Agent ${bertrand.name}`, exact: true }).getByText(start(bertrand.last_message)).waitFor();
  assert.deepEqual(at.complaints, []);
});

test("a topic and a cast of one's own, and a word of a person in between", async (t) => {
  const project = await Project.started({ config: quick }, t);
  await project.post("/live", { name: "guest" });
  const at = await open(await project.link(), t);
  const { page } = at;
  await page.getByText("Topic, cast and time").click();
  const form = page.getByRole("form", { name: "Start a conversation" });
  await form.getByLabel("Topic").fill("Should cats vote?");
  await form.getByLabel("Agents").selectOption("4");
  await form.getByLabel("Minds").fill("no-such-mind");
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("alert").getByText(/no-such-mind/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await form.getByLabel("Minds").fill("");
  await form.getByRole("button", { name: "Start" }).click();
  await at.isOn(true);
  await at.panel.getByRole("heading", { name: "Should cats vote?" }).waitFor();
  assert.equal(await at.cast.getByRole("button").count(), 4);
  await page.getByLabel("Say something to them").fill("And dogs?");
  await page.getByRole("button", { name: "Join in" }).click();
  await at.transcript.getByText("And dogs?").first().waitFor();
  await page.screenshot({ path: picture("auto-mode-four") });
  await at.transcript.getByText('player_0 asks: "And dogs?"').waitFor();
  await page.getByTestId("auto-ended").getByText(/the agents ended it/).waitFor();
  assert.deepEqual(at.complaints, []);
});

test("a second conversation beside the first: each is shown, joined and stopped by itself, in every tab", async (t) => {
  const project = await Project.started({ config: "live: {idle_time: 1h, min_speech_time: 2s, speech_per_character: 30ms}\n" }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  await at.auto.click();
  await at.isOn(true);
  const { json: main } = await project.get("/auto");
  await page.getByText("Another conversation").click();
  const form = page.getByRole("form", { name: "Start a conversation" });
  await form.getByLabel("Topic").fill("Should cats vote?");
  await form.getByLabel("Messages at most").fill("40");
  await form.getByRole("button", { name: "Start" }).click();
  const choice = page.getByRole("list", { name: "Conversations" });
  await at.panel.getByRole("heading", { name: "Should cats vote?" }).waitFor();
  await at.panel.getByText("Ends after 40 turns.").waitFor();
  await at.cast.getByRole("button", { name: "Clara, questioner" }).waitFor();
  assert.equal(await choice.getByRole("button").count(), 2);
  await page.getByLabel("Say something to them").fill("And dogs?");
  await page.getByRole("button", { name: "Join in" }).click();
  await at.transcript.getByText("And dogs?").first().waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.screenshot({ path: picture("auto-mode-two") });

  // A second tab and a reload show both.
  const second = await at.context.newPage();
  await second.goto(await project.link());
  const there = await look(second);
  const other = second.getByRole("list", { name: "Conversations" }).getByRole("button", { name: "Should cats vote?" });
  await other.click();
  await there.transcript.getByText("And dogs?").first().waitFor();
  await page.reload();
  await at.isOn(true);
  await choice.getByRole("button", { name: main.topic }).waitFor();

  // Stopped in one tab, it is over in both, and the first goes on.
  await there.panel.getByRole("button", { name: "Stop" }).click();
  await there.panel.getByText(/it was stopped/).waitFor();
  await choice.getByRole("button", { name: "Should cats vote? (over)" }).waitFor();
  await at.isOn(true);
  assert.equal((await project.get("/auto")).json.active, true);
  await at.auto.click();
  await at.isOn(false);
  await there.isOn(false);
  assert.deepEqual(at.complaints, []);
});

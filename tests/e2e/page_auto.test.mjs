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
  // The button says what it does; what looks like a clock opens the conversation and stops nothing.
  assert.equal(await at.auto.textContent(), "Stop auto");
  const time = page.getByTestId("auto-time");
  assert.match(await time.textContent(), /^[45]:\d\d$/);
  const [spawn, map] = [await page.getByRole("button", { name: "Spawn", exact: true }).boundingBox(), await at.map.boundingBox()];
  assert.ok(spawn.y + spawn.height <= map.y, "the map covers no button");
  await time.click();
  await waitFor(() => at.panel.evaluate((panel) => panel === document.activeElement), { what: "the conversation is shown" });
  await at.panel.getByRole("button", { name: "Stop", exact: true }).waitFor();
  assert.equal((await project.get("/auto")).json.active, true);
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
  await page.getByTestId("auto-ended").getByText(/^The conversation is over: stopped by /).waitFor();
  // Topic, cast and transcript stay, also after a reload and in the other tab.
  const stays = async ({ panel, cast, transcript }) => {
    await panel.getByRole("heading", { name: state.topic }).waitFor();
    await panel.getByText(state.prompt).waitFor();
    await cast.getByText("Ada, advocate").waitFor();
    await cast.getByText("Bertrand, skeptic").waitFor();
    await panel.getByText(/^The conversation is over: stopped by .*\.$/).waitFor();
    await transcript.getByText("Ada").first().waitFor();
  };
  await stays(at);
  await stays(there);
  await page.reload();
  await stays(at);
  const third = await at.context.newPage();
  await third.goto(await project.link());
  await stays(await look(third));
  await third.close();
  assert.equal((await at.auto.textContent()).trim(), "Auto");

  // Ended by the server, it is over on the page.
  await at.auto.click();
  await at.isOn(true);
  await project.post("/auto/timeout", { duration_ms: 1 });
  await at.isOn(false);
  await there.isOn(false);
  await page.getByTestId("auto-ended").getByText(/the limit of 1ms was reached/).waitFor();
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

/// Opens the form, and gives it.
async function choosing(page) {
  await page.getByRole("button", { name: "Topic and cast" }).click();
  const form = page.getByRole("form", { name: "Start a conversation" });
  await form.getByLabel("Ada, advocate").waitFor();
  return form;
}

test("a topic and a cast of one's own, and a word of a person in between", async (t) => {
  const project = await Project.started({ config: quick }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  const form = await choosing(page);
  await form.getByLabel("Topic").fill("Should cats vote?");
  assert.deepEqual(await form.getByRole("checkbox", { checked: true }).evaluateAll((all) => all.map((one) => one.closest("label").textContent)), ["Ada, advocate", "Bertrand, skeptic"]);
  await form.getByLabel("Bertrand, skeptic").uncheck();
  await form.getByRole("alert").getByText("Choose at least two agents.").waitFor();
  assert.ok(await form.getByRole("button", { name: "Start" }).isDisabled());
  for (const name of ["Clara, questioner", "Grace, mediator", "Hugo, economist"]) await form.getByLabel(name).check();
  await form.getByText("Cast: 4 agents (2 to 8)").waitFor();
  await form.getByLabel("Models").fill("no-such-mind");
  await form.getByRole("button", { name: "Start" }).click();
  await form.getByRole("alert").getByText(/no-such-mind/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await form.getByLabel("Models").fill("");
  await form.getByRole("button", { name: "Start" }).click();
  await at.isOn(true);
  await form.waitFor({ state: "detached" });
  await at.panel.getByRole("heading", { name: "Should cats vote?" }).waitFor();
  assert.deepEqual(await at.cast.getByRole("button").allTextContents(), ["Ada, advocate", "Clara, questioner", "Grace, mediator", "Hugo, economist"]);
  await page.getByLabel("Say something to them").fill("And dogs?");
  await at.panel.getByRole("button", { name: "Say", exact: true }).click();
  await at.transcript.getByText("And dogs?").first().waitFor();
  await page.screenshot({ path: picture("auto-mode-four") });
  // By name among the agents, and "You" on one's own page.
  await at.transcript.getByText(/^\S+ asks: "And dogs\?"/).waitFor();
  assert.equal(await at.transcript.getByText("player_0").count(), 0);
  assert.ok(await at.transcript.getByText("You", { exact: true }).count());
  await page.getByTestId("auto-ended").getByText(/ ended the conversation\.$/).waitFor();
  await at.transcript.getByText(/So my answer to “Should cats vote\?” is/).waitFor();

  // An earlier one can be read again when another is over.
  await project.post("/auto/start", { topic: "zoo", timeout_ms: 1 });
  await at.panel.getByRole("heading", { name: "zoo" }).waitFor();
  await at.panel.getByText("Earlier conversations").click();
  await at.panel.getByRole("list", { name: "Earlier conversations" }).getByRole("button", { name: "Should cats vote?" }).click();
  await at.panel.getByRole("heading", { name: "Should cats vote?" }).waitFor();
  await at.transcript.getByText(/So my answer to “Should cats vote\?” is/).waitFor();
  assert.deepEqual(at.complaints, []);
});

test("the form fits on a small screen and on a telephone, and is filled in with the keyboard alone", async (t) => {
  const project = await Project.started({ config: "live: {idle_time: 1h, min_speech_time: 2s, speech_per_character: 30ms}\n" }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  const form = await choosing(page);
  for (const [name, size] of Object.entries({ large: { width: 1280, height: 800 }, small: { width: 1024, height: 700 } })) {
    await page.setViewportSize(size);
    await form.getByRole("button", { name: "Start" }).scrollIntoViewIfNeeded();
    await page.screenshot({ path: picture(`auto-form-${name}`) });
    for (const control of await form.locator("input, select, textarea, button").all()) {
      const box = await control.boundingBox();
      assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= size.width && box.y + box.height <= size.height, `${name}: ${await control.evaluate((one) => one.outerHTML)} at ${JSON.stringify(box)}`);
    }
    assert.equal(await overflowOf(page), 0);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: picture("auto-form-telephone"), fullPage: true });
  assert.equal(await overflowOf(page), 0);
  for (const control of await form.locator("input, select, textarea, button").all()) {
    await control.scrollIntoViewIfNeeded();
    const box = await control.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390 && box.y >= 0 && box.y + box.height <= 844, `telephone: ${JSON.stringify(box)}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });

  // Escape closes it, and nothing but keys fills it in.
  await form.getByLabel("Topic").focus();
  await page.keyboard.press("Escape");
  await form.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Topic and cast");
  await page.keyboard.press("Enter");
  await form.getByLabel("Ada, advocate").waitFor();
  await waitFor(() => form.getByLabel("Topic").evaluate((one) => one === document.activeElement), { what: "the first field is focused" });
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "auto-list");
  await page.keyboard.press("ArrowDown");  // the first of the list
  await waitFor(async () => (await form.getByLabel("Topic").inputValue()).startsWith("Should every change to a program"), { what: "a topic of the list" });
  for (let i = 0; i < 3; ++i) await page.keyboard.press("Tab");
  await page.keyboard.press("Space");  // without Ada
  for (let i = 0; i < 2; ++i) await page.keyboard.press("Tab");
  await page.keyboard.press("Space");  // with Clara
  await form.getByRole("button", { name: "Start" }).focus();
  await page.keyboard.press("Enter");
  await at.isOn(true);
  await at.panel.getByRole("heading", { name: "code-review" }).waitFor();
  assert.deepEqual(await at.cast.getByRole("button").allTextContents(), ["Bertrand, skeptic", "Clara, questioner"]);
  await at.auto.click();
  await at.isOn(false);
  assert.deepEqual(at.complaints, []);
});

test("a person takes part with a turn of their own, and leaves", async (t) => {
  const project = await Project.started({ config: quick }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  await at.auto.click();
  await at.isOn(true);
  await at.panel.getByRole("button", { name: "Take part" }).click();
  await at.panel.getByRole("button", { name: "Leave" }).waitFor();
  const turn = page.getByTestId("auto-person-turn");
  await turn.getByText(/^It is your turn/).waitFor();
  await turn.getByText(/: [01]:\d\d$/).waitFor();
  // Nobody goes on meanwhile, and a reload shows the same.
  const { json: waiting } = await project.get("/auto");
  assert.equal(waiting.respondingAgentId, null);
  assert.deepEqual(waiting.people, [waiting.personTurn]);
  await page.reload();
  await turn.getByText(/^It is your turn/).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  await page.screenshot({ path: picture("auto-mode-turn") });
  await page.getByLabel("Say something to them").fill("And dogs?");
  await at.panel.getByRole("button", { name: "Say", exact: true }).click();
  await at.transcript.getByText("And dogs?").first().waitFor();
  await at.transcript.getByText(/^\S+ asks: "And dogs\?"/).waitFor();
  // In the next round it is theirs again, and who leaves then holds nobody up.
  await turn.getByText(/^It is your turn/).waitFor();
  await at.panel.getByRole("button", { name: "Leave" }).click();
  await at.panel.getByRole("button", { name: "Take part" }).waitFor();
  await turn.waitFor({ state: "detached" });
  await page.getByTestId("auto-ended").getByText(/ ended the conversation\.$/).waitFor();
  assert.deepEqual(at.complaints, []);
});

test("a second conversation beside the first: each is shown, joined and stopped by itself, in every tab", async (t) => {
  const project = await Project.started({ config: "live: {idle_time: 1h, min_speech_time: 2s, speech_per_character: 30ms}\n" }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  await at.auto.click();
  await at.isOn(true);
  const { json: main } = await project.get("/auto");
  const form = await choosing(page);
  await form.getByLabel("Clara, questioner").check();
  for (const name of ["Ada, advocate", "Bertrand, skeptic"]) await form.getByLabel(name).uncheck();
  await form.getByLabel("Dario, historian").check();
  await form.getByLabel("Topic").fill("Should cats vote?");
  await form.getByLabel("Messages at most").fill("40");
  await form.getByRole("button", { name: "Start" }).click();
  const choice = page.getByRole("list", { name: "Conversations" });
  await at.panel.getByRole("heading", { name: "Should cats vote?" }).waitFor();
  await at.panel.getByText("Ends after 40 turns.").waitFor();
  await at.cast.getByRole("button", { name: "Clara, questioner" }).waitFor();
  assert.equal(await choice.getByRole("button").count(), 2);
  await page.getByLabel("Say something to them").fill("And dogs?");
  await at.panel.getByRole("button", { name: "Say", exact: true }).click();
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
  await there.panel.getByRole("button", { name: "Stop", exact: true }).click();
  await there.panel.getByText(/^The conversation is over: stopped by /).waitFor();
  await choice.getByRole("button", { name: "Should cats vote? (over)" }).waitFor();
  await at.isOn(true);
  assert.equal((await project.get("/auto")).json.active, true);
  await at.auto.click();
  await at.isOn(false);
  await there.isOn(false);
  assert.deepEqual(at.complaints, []);
});

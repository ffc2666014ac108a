// The crew on the page, with a real daemon: everybody once, whatever they are; the daemon's word for each; a tab for each facet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, waitFor } from "./harness.mjs";
import { narrow, openPage, overflowOf, picture, rowOf, violationsOf } from "./harness/browser.mjs";
import { Crew } from "./harness/crew.mjs";

const scripts = {
  lead: {
    replies: [{ when: { turn: 1 }, say: "I ask the explorer.", tools: [{ name: "spawn_agent", input: { agent: "explorer", task: "look at the login", model: "slow" } }] }],
    otherwise: { say: "All is well." },
  },
  slow: { otherwise: { delay: "1h", say: "## Summary\nNever.\n\n## Findings\nNothing." } },
  quick: { otherwise: { say: "## Summary\nThe shelf is full.\n\n## Findings\nNothing." } },
};

/// A run, a session that holds something, a chat whose subagent is at work, a live agent.
async function everybody(t) {
  const crew = await Crew.started({ models: { lead: "lead", slow: "slow", quick: "quick" }, settings: { crew: { default_model: "lead", delegation_timeout: "1h" }, live: { idle_time: "1h" } }, scripts }, t);
  await crew.sh("build", "echo compiling; while read -r line; do echo \"heard $line\"; done");
  const ada = new Agent(crew, "ada");
  await ada.ask("register_session", { capabilities: ["c++"], current_task: "the parser" });
  await ada.ask("acquire_lock", { file_path: "src/parser.cc", reason: "splitting it" });
  await ada.ask("submit_work", { task_type: "fix", description: "Fix the lexer", task_id: "fix-1" });
  await ada.ask("get_work");
  await ada.ask("write_handoff", { summary: "The parser is split." });
  const chat = await crew.chat({ message: "Is the login well?" }, { wait: false });
  const { data: { task_id: subagent } } = await chat.heard("subagent.started");
  assert.equal((await crew.cru("spawn", "--live", "--name", "Eve", "--role", "librarian", "--backend", "scripted")).code, 0);
  return { crew, ada, chat, subagent };
}

const namesIn = (page) => page.getByRole("navigation", { name: "Crew" }).locator(".member-name").allTextContents();

test("everybody is in one list, as a tree, with the words of cru crew, and can be filtered by facet", async (t) => {
  const { crew, subagent } = await everybody(t);
  const { page, complaints } = await openPage(await crew.link(), t);
  const row = (name) => rowOf(page, name);
  const told = (await crew.get("/crew")).json.crew;
  assert.equal(told.length, 5);
  for (const { name, badge } of told) await row(name).locator(".badge").getByText(badge).waitFor();
  await page.screenshot({ path: picture("crew") });
  assert.deepEqual(await violationsOf(page), []);

  // The subagent stands below who spawned it.
  const names = await namesIn(page);
  assert.equal(names.indexOf(`└ explorer-${subagent}`), names.indexOf("assistant") + 1, names.join());
  const filter = page.getByRole("group", { name: "Show" });
  for (const [facet, expected] of [["Runs", ["build"]], ["Chats", ["assistant", `└ explorer-${subagent}`]], ["Sessions", ["ada"]], ["Live", ["Eve"]]]) {
    await filter.getByRole("button", { name: facet }).click();
    assert.deepEqual(await namesIn(page), expected, facet);
  }
  await filter.getByRole("button", { name: "All" }).click();
  assert.equal((await namesIn(page)).length, 5);

  // A link is followed, whatever changes on the page before the browser reports the new address.
  await page.evaluate(() => {
    location.hash = "#view=locks";
    document.querySelector(".member:not([aria-current])").click();
  });
  await page.getByRole("region", { name: "Locks", exact: true }).waitFor();
  await page.keyboard.press("1");

  // The word is the daemon's, even one that nothing else on the page would suggest.
  await page.route("**/crew?**", async (route) => {
    const response = await route.fetch();
    const reply = await response.json();
    for (const member of reply.crew) if (member.name === "build") Object.assign(member, { badge: "listening", evidence: "so says the daemon" });
    await route.fulfill({ response, json: reply });
  });
  await crew.sh("other", "sleep 600");
  await row("other").waitFor();
  await row("build").getByText("listening").waitFor();
  await page.unrouteAll({ behavior: "wait" }); // a reply may still be on its way

  // Whoever asks comes first, and is a child's whole family.
  await crew.sh("asker", "echo '::cru-ask {\"prompt\":\"Which DB?\"}'; read answer; exit 3");
  await row("asker").getByText("needs you").waitFor();
  assert.equal((await namesIn(page))[0], "asker");
  const inbox = page.getByRole("region", { name: "Waiting for you" });
  await inbox.getByRole("textbox").fill("SQLite");
  await page.keyboard.press("Enter");
  await row("asker").getByText("failed").waitFor();
  await page.getByRole("list", { name: "Ended" }).getByText("asker").click();
  await page.getByRole("region", { name: "Member asker" }).getByText("exited with code 3").waitFor();
  assert.deepEqual(complaints, []);
});

test("a member has a tab for each facet, by pointer, by keys and by address", async (t) => {
  const { crew, chat, subagent } = await everybody(t);
  const { page, complaints } = await openPage(`${await crew.link()}&run=build`, t);
  const row = (name) => rowOf(page, name);
  const pane = (name) => page.getByRole("region", { name: `Member ${name}`, exact: true });
  const tabsOf = (name) => pane(name).getByRole("tab").allTextContents();
  const selected = (name) => page.getByRole("tab", { name, selected: true });

  // A run, by its name in the address.
  await pane("build").getByTestId("output").getByText("compiling").waitFor();
  assert.deepEqual(await tabsOf("build"), ["Output", "Trace"]);
  await crew.post("/agents/build/input", { text: "live" });
  await page.getByTestId("output").getByText("heard live").waitFor();

  // A session: what it holds, and what it has left.
  await row("ada").click();
  await pane("ada").getByRole("region", { name: "Locks held" }).getByText("src/parser.cc").waitFor();
  await pane("ada").getByRole("region", { name: "Work claimed" }).getByText("Fix the lexer").waitFor();
  await pane("ada").getByText("c++").waitFor();
  assert.deepEqual(await tabsOf("ada"), ["Locks and work", "Handoffs and changes"]);
  await page.screenshot({ path: picture("crew-session") });
  assert.deepEqual(await violationsOf(page), []);
  await selected("Locks and work").focus();
  await page.keyboard.press("ArrowRight");
  await selected("Handoffs and changes").and(page.locator(":focus")).waitFor();
  await pane("ada").getByText("The parser is split.").waitFor();
  assert.match(page.url(), /#view=crew&member=m-[0-9a-f]+&tab=handoffs$/);
  await page.reload();
  await pane("ada").getByText("The parser is split.").waitFor();
  await selected("Handoffs and changes").focus();
  await page.keyboard.press("ArrowRight");
  await selected("Locks and work").waitFor();
  await page.keyboard.press("End");
  await selected("Handoffs and changes").waitFor();

  // A chat, with its subagent's card; the subagent itself, and the way to its parent.
  await row("assistant").click();
  const transcript = page.getByTestId("transcript");
  await transcript.getByText("I ask the explorer.").waitFor();
  await transcript.getByRole("article", { name: `Subagent explorer ${subagent}` }).getByText("thinking").waitFor();
  await row("explorer").click();
  await pane(`explorer-${subagent}`).getByText("look at the login").first().waitFor();
  await page.screenshot({ path: picture("crew-subagent") });
  assert.deepEqual(await violationsOf(page), []);
  await pane(`explorer-${subagent}`).getByRole("link", { name: "assistant" }).click();
  await transcript.waitFor();
  await page.goto(`${crew.url}/#view=crew&thread=${encodeURIComponent(subagent)}`);
  await pane(`explorer-${subagent}`).getByRole("button", { name: "Cancel" }).click();
  await pane(`explorer-${subagent}`).getByRole("button", { name: "Cancel it now" }).click();
  await row("explorer").getByText("done").waitFor();
  await chat.idle();

  // A live agent, given a task from here.
  await row("Eve").click();
  const card = pane("Eve").getByRole("region", { name: "Agent Eve" });
  await card.getByRole("textbox", { name: "Task" }).fill("sort the shelves");
  await card.getByRole("button", { name: "Assign" }).click();
  await waitFor(async () => (await crew.get("/events?since=0&type=live.task_assigned")).json.events.some(({ data }) => data.task_name === "sort the shelves"));
  assert.deepEqual(await tabsOf("Eve"), ["Body", "Trace"]);
  await page.screenshot({ path: picture("crew-live") });
  assert.deepEqual(await violationsOf(page), []);
  await card.getByRole("link", { name: "Show on the map" }).click();
  await rowOf(page, "Eve", "Live agents").and(page.locator("[aria-current]")).waitFor();
  await page.getByTestId("map").waitFor();
  await page.keyboard.press("1");

  await page.setViewportSize(narrow);
  for (const name of ["build", "ada", "assistant", "explorer", "Eve"]) {
    await row(name).click();
    await row(name).and(page.locator("[aria-current]")).waitFor();
    assert.equal(await overflowOf(page), 0, `${name} fits a narrow window`);
    await page.screenshot({ path: picture(`narrow-crew-${name.toLowerCase()}`), fullPage: true });
  }
  assert.deepEqual(await violationsOf(page), []);
  assert.deepEqual(complaints, []);
});

test("a chat and a subagent are started from the crew, and shown as soon as they are there", async (t) => {
  const crew = await Crew.started({ models: { quick: "quick" }, settings: { crew: { default_model: "quick" } }, scripts }, t);
  const { page, complaints } = await openPage(await crew.link(), t);
  const nav = page.getByRole("navigation", { name: "Crew" });
  await nav.getByRole("button", { name: "New chat" }).click();
  const chat = page.getByRole("form", { name: "New chat" });
  await chat.getByLabel("First message").fill("How is the shelf?");
  assert.deepEqual(await violationsOf(page), []);
  await chat.getByRole("button", { name: "Start chat" }).click();
  await page.getByRole("region", { name: "Member assistant" }).getByTestId("transcript").getByText("The shelf is full.").waitFor();
  await nav.getByRole("button", { name: "Spawn" }).click();
  const form = page.getByRole("form", { name: "Spawn an agent" });
  await form.getByLabel("Agent", { exact: true }).selectOption("explorer");
  await form.getByLabel("Model", { exact: true }).selectOption("quick");
  await form.getByLabel("Task").fill("look at the shelf");
  await form.getByRole("button", { name: "Spawn" }).click();
  await page.getByRole("region", { name: /^Member explorer-/ }).getByText("look at the shelf").first().waitFor();
  await rowOf(page, "explorer").getByText("done").waitFor();
  // A definition's button spawns as well, and leads to the crew.
  await page.keyboard.press("6");
  await page.getByRole("row").filter({ hasText: "code-reviewer" }).getByRole("button", { name: /Spawn/ }).click();
  await form.getByLabel("Model", { exact: true }).selectOption("quick");
  await form.getByLabel("Task").fill("review the shelf");
  await form.getByRole("button", { name: "Spawn" }).click();
  await page.getByRole("region", { name: /^Member code-reviewer-/ }).getByText("review the shelf").first().waitFor();
  assert.deepEqual(complaints, []);
});

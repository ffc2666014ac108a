// The page in a window of 390 pixels, the width of a telephone: nothing is wider than it, in any view, whatever names and words
// it has to show.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { Agent, waitFor } from "./harness.mjs";
import { narrow, openPage, overflowOf, picture, rowOf } from "./harness/browser.mjs";
import { cast } from "./harness/cast.mjs";
import { Crew } from "./harness/crew.mjs";

const word = (letter, length = 120) => letter.repeat(length);

/// What sticks out of the window or has to be scrolled sideways. Output and code may scroll on their own; what ends in
/// an ellipsis is cut off.
const stickingOut = (page) => page.evaluate(() => {
  const width = document.scrollingElement.clientWidth;
  const may_scroll = ".output-box, .terminal-box, .terminal-box *, pre";
  const overflow = (element) => getComputedStyle(element).overflowX;
  const isBoxed = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (at.matches(may_scroll) || /hidden|clip/.test(overflow(at))) return true;
    return false;
  };
  const isOut = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.right > 0 && (box.right > width + 1 || box.left < -1);
  };
  const isScrolled = (element) => /auto|scroll/.test(overflow(element)) && !element.matches(may_scroll) && element.scrollWidth > element.clientWidth + 1;
  return [...document.body.querySelectorAll("*")].filter((element) => (isOut(element) || isScrolled(element)) && !isBoxed(element))
    .slice(0, 6).map((element) => `${element.tagName.toLowerCase()}.${element.className} ${Math.round(element.getBoundingClientRect().right)} ${element.scrollWidth}`);
});

test("every view fits a window of 390 pixels, with long names and words", async (t) => {
  const lead = { replies: [{ when: { turn: 1 }, say: `I ask.\n\n\`\`\`\n${word("code ", 40)}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${word("cell ", 20)} | ${word("x", 90)} |\n\n${word("y")}`, tools: [{ name: "spawn_agent", input: { agent: "explorer", task: `look at ${word("t")}`, model: "worker" } }] }], otherwise: { say: `All is well: ${word("z")}` } };
  const worker = { otherwise: { say: `## Summary\nNothing is wrong with ${word("w")}.\n\n## Findings\nNothing.` } };
  const crew = await Crew.started({
    models: { lead: "lead", worker: "worker" }, settings: { crew: { default_model: "lead" }, live: { idle_time: "1h" } }, scripts: { lead, worker },
    agents: { [word("d", 60)]: { description: `Does ${word("e")}` }, broken: "---\nname: other\n---\n" },
  }, t);
  const run = word("r", 64);
  await crew.start(run, ["sh", "-c", `printf '\\033[31m${word("p", 600)}\\033[0m\\n'; echo '::cru-ask {"prompt":"Which ${word("q")}?","options":["${word("o", 90)}","no"]}'; read a; : ${word("c", 300)}`]);
  await crew.start("terminal", ["sh", "-c", `stty size; printf '${word("n", 300)}'; cat`], { pty: true });
  const ada = new Agent(crew, word("a", 60)), bob = new Agent(crew, "bob");
  await ada.ask("register_session", { capabilities: [word("k", 50), "docs"], current_task: word("s") });
  await bob.ask("register_session");
  await ada.ask("acquire_lock", { file_path: `src/${word("f")}.cc`, reason: word("l") });
  bob.call("acquire_lock", { file_path: `src/${word("f")}.cc`, wait_seconds: 60 }).catch(() => {});
  await ada.ask("submit_work", { task_type: word("b", 40), description: `Build ${word("u")}`, task_id: "build-1" });
  await ada.ask("submit_work", { task_type: "test", description: "Test it", task_id: word("v", 50), depends_on: ["build-1"] });
  await ada.ask("get_work", { task_types: [word("b", 40)] });
  await ada.ask("write_handoff", { summary: `It is split: ${word("h")}\n\n- ${word("i")}`, next_steps: [word("j")] });
  await ada.ask("check_edit", { file_path: `src/${word("g")}.cc`, tool: "Edit" });
  const spawned = await crew.post("/live", { name: word("m", 40), role: word("o", 60) });
  assert.equal(spawned.status, 201, spawned.text);
  await crew.chat({ message: `Is it well? ${word("x")}` });
  writeFileSync(crew.path(".crucible/teams.yaml"), `team: t\nagents:\n  - {name: mole, role: worker, capabilities: [], description: ${word("t", 200)}}\n`);

  const { page, complaints } = await openPage(await crew.link(), t, { size: narrow });
  const fits = async (name) => {
    await page.screenshot({ path: picture(`390-${name}`), fullPage: true });
    assert.deepEqual([await overflowOf(page), await stickingOut(page)], [0, []], name);
  };
  const inbox = page.getByRole("region", { name: "Waiting for you" });
  await inbox.getByText(word("q")).first().waitFor();  // in the question, and in the task of its run
  await inbox.getByText(".crucible/teams.yaml").click();
  await fits("inbox");
  for (const [key, name] of [["2", "Board"], ["3", "Locks"], ["4", "Handoffs"], ["6", "Definitions"]]) {
    await page.keyboard.press(key);
    await page.getByRole("region", { name }).first().waitFor();
    await waitFor(async () => (await page.locator(".main").innerText()).length > 200, { what: `${name} shows something` });
    for (const summary of await page.locator(".main summary").all()) await summary.click();
    await fits(name.toLowerCase());
  }
  await page.keyboard.press("2");
  await page.getByRole("button", { name: "Submit work" }).click();
  await fits("submit");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "World" }).click();
  await page.getByTestId("map").waitFor();
  await rowOf(page, word("m", 40), "Live agents").click();
  await fits("world");
  await page.getByRole("link", { name: "Crew", exact: false }).first().click();
  const nav = page.getByRole("navigation", { name: "Crew", exact: true });
  for (const [name, shown] of [[run, page.getByTestId("output").getByText(/^p+/)], ["terminal", page.getByTestId("terminal").locator(".xterm-rows").getByText(/n{20}/).first()], ["assistant", page.getByTestId("transcript").getByText(/All is well/)], [word("m", 40), page.getByRole("region", { name: `Agent ${word("m", 40)}` })], ["explorer", page.getByText(/Nothing is wrong/).first()]]) {
    await rowOf(page, name).first().click();
    // A terminal draws nothing as long as it is out of sight.
    await page.getByRole("tabpanel").evaluate((panel) => panel.scrollIntoView());
    await shown.waitFor();
    await fits(`member-${name.slice(0, 10)}`);
  }
  await rowOf(page, word("a", 60)).click();
  for (const tab of ["Locks and work", "Handoffs and changes"]) {
    await page.getByRole("tab", { name: tab }).click();
    await fits(`session-${tab.slice(0, 5).toLowerCase()}`);
  }
  for (const name of ["New chat", "Spawn"]) {
    await nav.getByRole("button", { name }).click();
    await page.getByRole("heading", { name: name === "Spawn" ? "Spawn an agent" : name }).waitFor();
    await fits(name.toLowerCase().replace(" ", "-"));
  }
  assert.deepEqual(complaints, []);
});

test("on a telephone a link opens its approval below the bar, and what decides stays in view however long it is", async (t) => {
  const content = Array.from({ length: 300 }, (_, i) => `line ${i}\n`).join("");
  const part = ({ turn, text }) => (turn === 0 ? { text: "I write.", tools: [{ name: "write_file", input: { path: `${/first/.test(text) ? "first" : "second"}.md`, content } }] } : { text: "done" });
  const { crew } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite"], requires_approval: ["FilesystemWrite"] } } });
  const waiting = async (count) => waitFor(async () => (await crew.get("/approvals?pending=true")).json.approvals.length === count, { what: `${count} wait` });
  await crew.chat({ agent: "careful", message: "first" }, { wait: false });
  await waiting(1);
  await crew.chat({ agent: "careful", message: "second" }, { wait: false });
  await waiting(2);
  const { page, complaints } = await openPage(`${await crew.link()}&approval=A-2`, t, { size: narrow });
  const card = page.getByRole("listitem", { name: "Approval A-2" });
  await waitFor(() => card.evaluate((element) => element === document.activeElement), { what: "the link's approval has the focus" });
  const bar = await page.locator(".top").boundingBox();
  const { y } = await card.boundingBox();
  assert.ok(y >= bar.y + bar.height - 1 && y < narrow.height / 2, `the card begins at ${y}, the bar ends at ${bar.y + bar.height}`);
  const decides = async (where) => {
    for (const name of ["Approve", "Deny"]) {
      const box = await card.getByRole("button", { name, exact: true }).boundingBox();
      assert.ok(box.y >= bar.height && box.y + box.height <= narrow.height, `${name} is in view ${where}: ${box.y} to ${box.y + box.height} of ${narrow.height}`);
    }
  };
  await decides("at the beginning");
  await page.screenshot({ path: picture("390-approval") });
  // Whoever decides on one stays at the next, and is not thrown back to the beginning of the page.
  await card.getByRole("button", { name: "Deny", exact: true }).click();
  await card.waitFor({ state: "detached" });
  await waitFor(() => page.getByRole("listitem", { name: "Approval A-1" }).evaluate((element) => element === document.activeElement), { what: "the other one has the focus" });
  assert.deepEqual(complaints, []);
});

test("on a telephone nothing that decides covers what it decides, wherever the page is scrolled to", async (t) => {
  const tools = [{ name: "run_command", input: { argv: ["rm", "-rf", "gone"] } }];
  const part = ({ turn }) => (turn === 0 ? { text: "I remove it.", tools } : { text: "done" });
  const { crew } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "ProcessSpawn"], requires_approval: ["ProcessSpawn"] } } });
  for (const message of ["first", "second"]) await crew.chat({ agent: "careful", message }, { wait: false });
  await waitFor(async () => (await crew.get("/approvals?pending=true")).json.approvals.length === 2, { what: "both wait" });
  for (const size of [narrow, { width: 360, height: 640 }]) {
    const { page, complaints } = await openPage(await crew.link(), t, { size });
    const second = page.getByRole("listitem", { name: "Approval A-2" });
    await second.getByLabel(/Type A-2/).waitFor();
    // Wherever the page is: the parts of a card that say what it is about, and how far its foot is over them.
    const covered = await page.evaluate(async () => {
      const found = [];
      for (let y = 0; y <= document.scrollingElement.scrollHeight; y += 20) {
        scrollTo(0, y);
        await new Promise((drawn) => { requestAnimationFrame(drawn); });
        for (const card of document.querySelectorAll(".approval")) {
          const foot = card.querySelector(".approval-actions").getBoundingClientRect();
          for (const part of card.querySelectorAll(".card-from, .card-prompt, .approval-facts, .trust-diff")) {
            if (part.closest(".approval-actions, .rule-form")) continue;
            const { top, bottom } = part.getBoundingClientRect();
            const hidden = Math.round(Math.min(bottom, foot.bottom) - Math.max(top, foot.top));
            if (hidden > 1) found.push(`${card.getAttribute("aria-label")} at ${y}: ${hidden} of ${Math.round(bottom - top)} pixels of ${part.className}`);
          }
        }
      }
      return found;
    });
    assert.deepEqual(covered, [], `${size.width}×${size.height}`);
    // Whoever comes to the card by its link sees the command and what decides it together.
    await page.evaluate(() => { location.hash = "#approval=A-2"; });
    await waitFor(() => second.evaluate((element) => element === document.activeElement), { what: "the link's approval has the focus" });
    await page.screenshot({ path: picture(`${size.width}-irreversible`) });
    const bar = await page.locator(".top").boundingBox();
    const command = await second.locator(".trust-diff").boundingBox(), deny = await second.getByRole("button", { name: "Deny", exact: true }).boundingBox();
    assert.ok(command.y >= bar.y + bar.height && command.y + command.height <= deny.y, "the command is in view, above what decides it");
    if (size === narrow) assert.ok(deny.y + deny.height <= size.height, `Deny is in view: ${deny.y + deny.height} of ${size.height}`);
    assert.deepEqual(complaints, []);
  }
});

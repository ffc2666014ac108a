// The inbox from the keyboard alone: no pointer, and nothing that a person with a keyboard could not do. Whatever has the focus
// shows it, and no decision loses it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { openPage, picture } from "./harness/browser.mjs";
import { cast, told } from "./harness/cast.mjs";

/// A person with a keyboard.
class Typist {
  constructor(page) { this.page = page; }

  /// What has the focus: its name, which card it is in, what it says, and whether one sees that it has the focus.
  focused() {
    return this.page.evaluate(() => {
      const at = document.activeElement;
      const style = getComputedStyle(at);
      const labels = [...(at.labels ?? [])].map((label) => label.innerText.trim()).join(" ");
      return {
        tag: at.tagName.toLowerCase(), name: (at.getAttribute("aria-label") ?? (labels || at.innerText)).replace(/\s+/g, " ").trim(), text: at.innerText, value: at.value ?? "",
        card: at.closest(".card")?.getAttribute("aria-label") ?? "", in_inbox: !!at.closest(".inbox"),
        is_seen: at === document.body || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none",
      };
    });
  }
  /// Presses Tab until the focus is at what has this name, in this card if one is named.
  async tabTo(name, { card = "", back = false } = {}) {
    const passed = [];
    for (let presses = 0; presses < 150; ++presses) {
      await this.page.keyboard.press(back ? "Shift+Tab" : "Tab");
      const at = await this.focused();
      assert.ok(at.is_seen, `the focus is not visible at ${at.tag} “${at.name}”`);
      passed.push(`${at.tag} “${at.name.slice(0, 40)}”`);
      if (name.test(at.name) && at.card.includes(card)) return at;
    }
    return assert.fail(`Tab does not come to ${name} in “${card}”, only to ${passed.join(", ")}`);
  }
  async press(...keys) { for (const key of keys) await this.page.keyboard.press(key); }
  async type(text) { await this.page.keyboard.type(text); }
  async pressAt(name, options) {
    const at = await this.tabTo(name, options);
    await this.press("Enter");
    return at;
  }
  /// The focus is where `is_there` says, and can be seen.
  async stands(is_there, what) {
    const at = await waitFor(async () => { const now = await this.focused(); return is_there(now) && now; }, { what: `the focus is ${what}` });
    assert.ok(at.is_seen, `the focus is not visible ${what}`);
  }
  standsInInbox(after) { return this.stands(({ in_inbox }) => in_inbox, `in the inbox after ${after}`); }
}

const writing = (path) => ({ name: "write_file", input: { path, content: "made\n" } });

test("SA-53, SA-54, SA-55: a person with a keyboard alone reads a difference, asks, holds, changes, looks, types an id, approves, denies, makes a rule and revokes it", async (t) => {
  const turns = [
    [{ name: "edit_file", input: { path: "kept.txt", old: "two", new: "zwei" } }, { name: "run_command", input: { argv: ["sh", "-c", "echo ran > ran.txt"] } }, writing("no.txt")],
    [writing("docs/a.md")], [writing("docs/b.md")], [writing("src/c.md")],
  ];
  const part = ({ turn, text }) => (/the person asks:/.test(text) ? { text: "For our German readers." } : turn < turns.length ? { text: "I change it.", tools: turns[turn] } : { text: "done" });
  const { crew, asked } = await cast(t, { careful: part }, { agents: { careful: { permissions: ["FilesystemRead", "FilesystemWrite", "ProcessSpawn"], requires_approval: ["FilesystemWrite"] } }, notes: { "kept.txt": "one\ntwo\nthree\n" } });
  const chat = await crew.chat({ agent: "careful", message: "please" }, { wait: false });
  const { page, complaints } = await openPage(await crew.link(), t);
  const typist = new Typist(page);
  const cardOf = (id) => page.getByRole("listitem", { name: `Approval ${id}` });

  // To the inbox, and the difference.
  await cardOf("A-1").getByText("edit kept.txt").waitFor();
  await typist.pressAt(/1 needs you/);
  await typist.stands(({ card }) => card === "Approval A-1", "in the card of A-1");
  assert.match((await typist.tabTo(/^What A-1 would do$/)).text, /-two\n\+zwei/);
  // Asks, and the focus waits where the answer will be.
  await typist.tabTo(/^Reason or question for A-1$/);
  await typist.type("Why German? 2 reasons");
  await typist.pressAt(/^Ask$/, { card: "A-1" });
  await typist.stands(({ tag, card }) => tag === "li" && card === "Approval A-1", "at the card that was asked about");
  await cardOf("A-1").getByText("For our German readers.").waitFor();
  // Holds, and can release it at the same place, as the card says.
  await typist.pressAt(/^Hold$/, { card: "A-1" });
  await typist.stands(({ name }) => name === "Release", "at what releases it");
  await cardOf("A-1").getByText(/held; the timeout is paused until you press Release/).waitFor();
  // Changes a field, and sees what that does before it can be approved.
  await typist.pressAt(/^Change it first$/, { card: "A-1", back: true });
  await typist.tabTo(/^new$/, { card: "A-1" });
  await typist.press("Control+A");
  await typist.type("deux");
  await typist.pressAt(/^Show what it would do$/, { card: "A-1" });
  await cardOf("A-1").getByText(/With these changes it would edit kept\.txt/).waitFor();
  await typist.stands(({ name }) => name === "Show what it would do", "at the button that shows the change");
  assert.match((await typist.tabTo(/^What A-1 with these changes would do$/)).text, /-two\n\+deux/);
  await page.screenshot({ path: picture("keyboard-change") });
  await typist.pressAt(/^Approve with changes$/, { card: "A-1" });
  await cardOf("A-1").waitFor({ state: "detached" });
  await typist.standsInInbox("A-1 is approved");

  // What nobody knows how to undo needs its id.
  await cardOf("A-2").waitFor();
  assert.equal(readFileSync(crew.path("kept.txt"), "utf8"), "one\ndeux\nthree\n");
  await typist.tabTo(/^Type A-2 to approve it/, { card: "A-2" });
  await typist.type("A-2");
  await typist.pressAt(/^Approve$/, { card: "A-2" });
  await cardOf("A-2").waitFor({ state: "detached" });
  await typist.standsInInbox("A-2 is approved");

  // Denies with a reason.
  await cardOf("A-3").waitFor();
  await typist.tabTo(/^Reason or question for A-3$/);
  await typist.type("not here");
  await typist.pressAt(/^Deny$/, { card: "A-3" });
  await cardOf("A-3").waitFor({ state: "detached" });
  await typist.standsInInbox("A-3 is denied");

  // Makes a rule once it has been shown.
  await cardOf("A-4").getByText("create docs/a.md").waitFor();
  await typist.pressAt(/^Decide this from now on$/, { card: "A-4" });
  await typist.tabTo(/^For$/, { card: "A-4" });
  await typist.press("ArrowDown");
  assert.equal((await typist.focused()).value, "project");
  await typist.tabTo(/^Covers/, { card: "A-4" });
  await typist.type("docs/**");
  await typist.pressAt(/^Show what it covers$/, { card: "A-4" });
  await cardOf("A-4").getByText(/allows the agent careful to change files that match docs\/\*\*, in the project/).waitFor();
  await typist.stands(({ name }) => name === "Show what it covers", "at the button that shows the rule");
  await typist.pressAt(/^Approve and make this rule$/, { card: "A-4" });
  await cardOf("A-4").waitFor({ state: "detached" });
  await typist.standsInInbox("the rule is made");

  // Revokes it.
  await cardOf("A-6").getByText("create src/c.md").waitFor();
  assert.equal((await crew.get("/approvals/A-5")).json.decided_by, "rule");
  await typist.pressAt(/^1 rule decides for you$/);
  await typist.pressAt(/^Revoke R-/);
  await typist.stands(({ name }) => /^Revoke it R-/.test(name), "at the button that asks once more");
  await typist.press("Enter");
  await page.getByText("1 rule decides for you").waitFor({ state: "detached" });
  await typist.standsInInbox("the rule is revoked");
  assert.deepEqual((await crew.get("/approval-rules")).json.rules, []);

  await typist.pressAt(/^Approve$/, { card: "A-6" });
  await page.getByText("Nothing needs you.").waitFor();
  await typist.standsInInbox("nothing waits any more");
  await chat.idle();
  assert.equal(readFileSync(crew.path("ran.txt"), "utf8"), "ran\n");
  assert.deepEqual(["no.txt", "docs/a.md", "docs/b.md", "src/c.md"].map((path) => existsSync(crew.path(path))), [false, true, true, true]);
  assert.match(told(asked("careful").filter(({ text }) => !/the person asks:/.test(text))).map(({ text }) => text).join("\n"), /denied by a person: not here/);
  assert.deepEqual(complaints, []);
});

test("a key that is pressed while the page is still loading shows its view, and nothing that is loaded later takes it away", async (t) => {
  const { crew } = await cast(t, { careful: { text: "done" } });
  await crew.chat({ agent: "careful", message: "hello" });
  const { context, page, complaints } = await openPage("about:blank", t);
  const board = page.getByRole("region", { name: "Board" }).first();
  const boardStays = async () => {
    await page.locator(".views a").filter({ hasText: /Crew\s*[1-9]/ }).waitFor();  // all is loaded
    await board.waitFor();
    assert.match(page.url(), /#view=board$/);
  };
  for (const late of ["**/pairings/redeem", "**/events", "**/crew?*"]) {
    let asked = 0, open;
    const gate = new Promise((resolve) => { open = resolve; });
    await context.route(late, async (route) => { ++asked; await gate; await route.continue().catch(() => {}); });
    await page.goto("about:blank");
    await page.goto(await crew.link(), { waitUntil: "commit" });
    await page.getByRole("navigation", { name: "Views" }).waitFor();
    await waitFor(() => asked > 0, { what: `${late} is asked for` });
    await page.keyboard.press("2");
    open();
    await boardStays();
    await context.unroute(late);
  }
  assert.deepEqual(complaints, []);
});

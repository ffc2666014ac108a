// The page in a real browser: a run and its live output, a question answered, a daemon that dies and comes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exchange, fixedPort, Project, waitFor } from "./harness.mjs";
import { Agent } from "./harness/agents.mjs";
import { narrow, openPage, overflowOf, picture, rowOf, violationsOf } from "./harness/browser.mjs";

test("the page shows runs and live output, answers a question, and survives a restart (EX-01, EX-04, EX-11, EX-12)", async (t) => {
  const project = await Project.started({ config: `daemon: {port: ${await fixedPort()}}\n` }, t);
  const { page, complaints, context } = await openPage(await project.link(), t);
  await page.getByRole("heading", { name: "Nobody is here yet" }).waitFor();
  await page.getByText("cru run -- COMMAND").waitFor();
  await page.screenshot({ path: picture("empty") });
  assert.ok(!page.url().includes("code"), "the code leaves the address bar");

  await project.sh("build", "printf '\\033[32mcompiling\\033[0m\\n'; echo '<b>not bold</b>'; echo warning: unused >&2; while read -r line; do echo \"heard $line\"; done");
  const row = (name) => rowOf(page, name);
  await row("build").getByText("using a tool").waitFor();
  const output = page.getByTestId("output");
  await output.getByText("compiling", { exact: true }).waitFor();
  await output.getByText("<b>not bold</b>").waitFor();
  await project.post("/agents/build/input", { text: "live" });
  await output.getByText("heard live").waitFor();
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();

  await project.sh("choose", "echo '::cru-ask {\"prompt\":\"Which database shall it be?\",\"options\":[\"SQLite\",\"Postgres\"]}'; read a; echo \"chose $a\"; sleep 600");
  const inbox = page.getByRole("region", { name: "Waiting for you" });
  await inbox.getByText("Which database shall it be?").waitFor();
  await page.getByRole("button", { name: /1 needs you/ }).waitFor();
  await page.screenshot({ path: picture("question") });
  const cursor = page.getByTestId("link");

  await project.killDaemon();
  await cursor.getByText(/disconnected/).waitFor();
  await page.screenshot({ path: picture("stale") });
  await project.startDaemon();
  await cursor.getByText("connected", { exact: true }).waitFor();
  await project.post("/agents/build/input", { text: "after the restart" });
  await output.getByText("heard after the restart").waitFor();
  assert.equal(await output.getByText("heard live").count(), 1, "nothing is shown twice");

  await inbox.getByRole("button", { name: "Postgres" }).click();
  await inbox.getByText("Nothing needs you").waitFor();
  await row("choose").click();
  await output.getByText("chose Postgres").waitFor();
  await page.getByRole("button", { name: "Kill", exact: true }).click();
  await page.getByRole("button", { name: "Kill it now" }).click();
  await row("choose").getByText("done").waitFor();
  await page.getByRole("region", { name: "Member choose" }).getByText("was killed").waitFor();

  await page.reload();
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await row("choose").and(page.locator("[aria-current]")).waitFor();
  await output.getByText("chose Postgres").waitFor();
  await page.getByRole("region", { name: "Events" }).getByText("agent.killed").waitFor();
  await page.screenshot({ path: picture("runs") });
  assert.deepEqual(await violationsOf(page), []);
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path: picture("light") });
  await page.setViewportSize(narrow);
  await page.screenshot({ path: picture("narrow"), fullPage: true });
  assert.equal(await overflowOf(page), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a long output stays quick: few rows in the document, following, scrolling back, following again", async (t) => {
  const project = await Project.started({}, t);
  await project.start("long", ["perl", "-e", "$|=1; print qq(row $_\\n) for 1..30000; while (<STDIN>) { print qq(more $_) }"]);
  await waitFor(async () => (await project.run("long")).last_seq >= 30_000);
  const { page, complaints } = await openPage(await project.link(), t);
  const output = page.getByTestId("output");
  await output.getByText("row 30000", { exact: true }).waitFor();
  assert.ok(await page.locator(".line").count() < 200, "only what is in view is in the document");
  await output.hover();
  await output.evaluate((box) => { box.scrollTop = 0; });
  await page.getByRole("button", { name: /Follow/ }).waitFor();
  await output.getByText("row 29001", { exact: true }).waitFor();
  await waitFor(async () => { await output.evaluate((box) => { box.scrollTop = 0; }); return (await output.getByText("row 27500", { exact: true }).count()) || (await page.locator(".line-seq").first().textContent()) < "28000"; }, { every: 200 });
  await project.post("/agents/long/input", { text: "news" });
  const follow = page.getByRole("button", { name: /Follow/ });
  await follow.click();
  await output.getByText("more news").waitFor();
  assert.deepEqual(complaints, []);
});

test("without a key the page says what to do; its files are cached, compressed and locked down", async (t) => {
  const project = await Project.started({}, t);
  const { page } = await openPage(`${project.url}/`, t);
  await page.getByRole("heading", { name: "This page needs a link from the project." }).waitFor();
  const index = await exchange(project.tcp, "GET", "/", {});
  assert.equal(index.status, 200);
  assert.match(index.headers["content-security-policy"], /default-src 'none'|default-src 'self'/);
  assert.ok(!/unsafe-inline|unsafe-eval/.test(index.headers["content-security-policy"]));
  const gzip = await exchange(project.tcp, "GET", "/", { headers: { "Accept-Encoding": "gzip" } });
  assert.equal(gzip.headers["content-encoding"], "gzip");
  const again = await exchange(project.tcp, "GET", "/", { headers: { "Accept-Encoding": "gzip", "If-None-Match": gzip.headers.etag } });
  assert.equal(again.status, 304);
});

test("the crew, locks, work and handoffs are on the page as they come and go; a person submits and cancels (CO-06, CO-19)", async (t) => {
  const project = await Project.started({ config: `daemon: {port: ${await fixedPort()}}\n` }, t);
  const { page, complaints } = await openPage(await project.link(), t);
  const region = (name) => page.getByRole("region", { name, exact: true });
  const row = (text) => page.getByRole("row").filter({ hasText: text });
  const column = (name) => region(`Work: ${name}`);
  const card = (name, text) => column(name).locator(".task-what").getByText(text);
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();

  // Empty views say what would be there. The keys 1 to 6 lead to them.
  await page.keyboard.press("2");
  await region("Board").getByText("cru work submit").waitFor();
  await page.screenshot({ path: picture("board-empty") });
  await page.keyboard.press("3");
  await region("Locks").getByText("A lock keeps other agents from editing").waitFor();
  await page.keyboard.press("4");
  await region("Handoffs").getByText("cru handoffs write").waitFor();
  assert.match(page.url(), /#view=handoffs$/);

  // The crew, with the same words as cru crew. Two sessions of one agent are two members.
  await page.keyboard.press("1");
  const ada = new Agent(project, "ada"), again = new Agent(project, "ada"), bob = new Agent(project, "bob");
  await ada.ask("register_session", { capabilities: ["review", "c++"], current_task: "splitting the parser \u202e<img src=x>" });
  await again.ask("register_session");
  await bob.ask("register_session", { capabilities: ["docs"] });
  const member = (name) => rowOf(page, name);
  await member("ada").filter({ hasText: "splitting the parser ‹U+202E›<img src=x>" }).getByText("thinking").waitFor();
  await member("bob").waitFor();
  assert.equal(await member("ada").count(), 2);
  await bob.ask("heartbeat", { status: "idle" });
  await member("bob").getByText("idle").waitFor();
  const asked = await bob.ask("ask_user", { prompt: "Which port?", wait_seconds: 0 });
  await member("bob").getByText("needs you").waitFor();
  await page.getByRole("button", { name: /1 needs you/ }).click();
  await region("Member bob").getByText("asked: Which port?").waitFor();
  await region("Member bob").getByText("docs").waitFor();
  assert.match((await project.cru("crew")).stdout, /^bob +claude +needs you /m);
  assert.deepEqual(await violationsOf(page), []);
  await page.screenshot({ path: picture("crew-sessions") });
  await project.post(`/questions/${asked.question_id}/answer`, { answer: "80" });
  await member("bob").getByText("needs you").waitFor({ state: "detached" });

  // Locks: taken, waited for, released to the one who waits, gone.
  await page.keyboard.press("3");
  const taken = await ada.ask("acquire_lock", { file_path: "src/**/*.cc", reason: "splitting the parser", ttl_minutes: 30 });
  await row("src/**/*.cc").getByText("ada").waitFor();
  await row("src/**/*.cc").getByText(/in (2\d|30) min/).waitFor();
  const waiting = bob.call("acquire_lock", { file_path: "src/a.cc", wait_seconds: 60 });
  await row("src/**/*.cc").getByText("1 waiting").waitFor();
  await page.screenshot({ path: picture("locks") });
  assert.deepEqual(await violationsOf(page), []);
  await ada.ask("release_lock", { file_path: "src/**/*.cc", fencing_token: taken.fencing_token });
  assert.equal((await waiting).json.success, true);
  await row("src/a.cc").getByText("bob").waitFor();
  await row("src/**/*.cc").waitFor({ state: "detached" });
  await page.keyboard.press("1");
  await region("Member bob").getByRole("region", { name: "Locks held" }).getByText("src/a.cc").waitFor();

  // Work: blocked and why, claimed, done; then a person's own.
  await page.keyboard.press("2");
  await ada.ask("submit_work", { task_type: "build", description: "Build the release", task_id: "build-1", priority: 2 });
  await ada.ask("submit_work", { task_type: "test", description: "Test the release", task_id: "test-1", depends_on: ["build-1"] });
  await card("pending", "Build the release").waitFor();
  await column("blocked").getByText("waiting for build-1 (not claimed yet)").waitFor();
  const claimed = await bob.ask("get_work", { task_types: ["build"] });
  await card("in progress", "Build the release").waitFor();
  await column("blocked").getByText("waiting for build-1 (claimed by bob)").waitFor();
  await page.getByRole("button", { name: "Submit work" }).click();
  const form = page.getByRole("form", { name: "Submit work" });
  await form.getByLabel("Type").fill("docs");
  await form.getByLabel("Description").fill("Say in the README what changed");
  await form.getByLabel("Depends on").fill("no-such-work");
  await form.getByRole("button", { name: "Submit" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("Depends on").fill("test-1");
  await page.screenshot({ path: picture("board") });
  assert.deepEqual(await violationsOf(page), []);
  await form.getByRole("button", { name: "Submit" }).click();
  await form.waitFor({ state: "detached" });
  await column("blocked").getByText("waiting for test-1 (also blocked)").waitFor();
  await bob.ask("complete_work", { task_id: "build-1", success: true, fencing_token: claimed.fencing_token, result: { size: 42 } });
  await card("done", "Build the release").waitFor();
  await card("pending", "Test the release").waitFor();
  const mine = column("blocked").getByRole("listitem").filter({ hasText: "Say in the README" });
  await mine.getByText("More").click();
  await mine.getByRole("button", { name: /^Cancel/ }).click();
  await mine.getByRole("button", { name: /^Cancel it now/ }).click();
  await column("failed").locator(".badge.is-cancelled").waitFor();

  // Handoffs: one chain for each agent, as text; a session that ends leaves its last one and its locks.
  await page.keyboard.press("4");
  await ada.ask("write_handoff", { summary: "The parser is split.\n\n- lexer.cc\n- grammar.cc", next_steps: ["fuzz it", "<script>alert(1)</script>"] });
  await ada.ask("write_handoff", { summary: "Fuzzed for an hour", completed_work: ["fuzzing"] });
  const chain = page.getByRole("article", { name: "Handoffs of ada" });
  await chain.getByText("Fuzzed for an hour").first().waitFor();
  await chain.getByText("The parser is split.").first().click();
  await chain.getByText("<script>alert(1)</script>").waitFor();
  await page.screenshot({ path: picture("handoffs") });
  assert.deepEqual(await violationsOf(page), []);
  await bob.ask("check_edit", { file_path: "src/release.cc", tool: "Edit" });
  await bob.ask("end_session", { reason: "done for today" });
  const of_bob = page.getByRole("article", { name: "Handoffs of bob" });
  await of_bob.getByText("What the session changed").click();
  await of_bob.getByText("1 file edited").waitFor();
  await of_bob.getByRole("list", { name: "Files edited" }).getByText("src/release.cc").waitFor();
  await page.screenshot({ path: picture("handoff-changes") });
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.press("3");
  await region("Locks").getByText("Nothing is locked").waitFor();
  await page.keyboard.press("1");
  await member("bob").getByText("done").waitFor();
  await region("Member bob").getByRole("tab", { name: "Handoffs and changes" }).and(page.locator("[aria-selected=true]")).waitFor();
  await of_bob.getByText("What the session changed").waitFor();
  assert.equal(await region("Member bob").getByRole("tab").count(), 1, "its session is gone");

  // What happened while the daemon was away is there when it is back; a reload shows the same.
  await ada.ask("acquire_lock", { file_path: "api:users" });
  await project.killDaemon();
  await page.getByTestId("link").getByText(/disconnected/).waitFor();
  await project.startDaemon();
  await again.ask("acquire_lock", { file_path: "db:users" });
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await page.keyboard.press("3");
  await row("db:users").waitFor();
  await page.reload();
  await row("api:users").waitFor();
  await row("db:users").waitFor();
  assert.match(page.url(), /#view=locks$/);
  await page.setViewportSize(narrow);
  for (const [key, name] of [["1", "Member"], ["2", "Board"], ["3", "Locks"], ["4", "Handoffs"], ["6", "Definitions"]]) {
    await page.keyboard.press(key);
    await page.getByRole("region", { name }).first().waitFor();
    assert.equal(await overflowOf(page), 0, `${name} fits a narrow window`);
    await page.screenshot({ path: picture(`narrow-${name.toLowerCase()}`), fullPage: true });
    assert.deepEqual(await violationsOf(page), [], name);
  }
  assert.deepEqual(complaints, []);
});

test("the demo's agents coordinate for real, through the daemon's death, and the page shows it", async (t) => {
  const project = new Project({});
  // A port of its own: while its daemon is dead, that of another test would take it.
  const demo = project.spawn(["demo"], { env: { CRU_PORT: String(await fixedPort()) } });
  // One after the other: the demo takes its own daemon, keeper and folder away, if it is let.
  t.after(async () => {
    demo.kill("SIGINT");
    await demo.ended;
    await project.close();
  });
  let said = "";
  demo.stdout.on("data", (part) => { said += part; });
  const url = await waitFor(() => /http:\/\/\S+#code=\S+/.exec(said)?.[0], { what: "the page's address" });
  const { page, complaints } = await openPage(url, t);
  // The demo kills its daemon: a page whose files were just being fetched has to be loaded again, as a person would.
  const link = page.getByTestId("link").getByText(/connected/);
  await waitFor(() => link.waitFor({ timeout: 20_000 }).then(() => true, () => page.reload().then(() => false, () => false)), { what: "the page is connected" });
  await page.keyboard.press("3");
  await page.screenshot({ path: picture("demo-locks") });
  await page.keyboard.press("2");
  await page.getByRole("region", { name: "Work: done" }).locator(".task-what").getByText("Write the release note").waitFor();
  await waitFor(() => /serving the web page|locks still held/.test(said), { what: "the end of the show" });
  assert.match(said, /Nothing was lost/);
  assert.match(said, /3 work items finished, 0 open; \d+ handoffs; 0 locks still held/);
  await page.screenshot({ path: picture("demo-board") });
  await page.keyboard.press("4");
  await page.getByRole("article", { name: "Handoffs of writer" }).getByText("The release note is written.").first().waitFor();
  await page.screenshot({ path: picture("demo-handoffs") });
  await page.keyboard.press("1");
  await rowOf(page, "writer").getByText("done").waitFor();
  await page.screenshot({ path: picture("demo-crew") });
  await waitFor(() => /talk to each other about code review/.test(said), { what: "auto mode is the last act" });
  await page.keyboard.press("5");
  await page.getByRole("list", { name: "Transcript" }).getByText("Ada").first().waitFor();
  await page.screenshot({ path: picture("demo-auto-mode") });
  const at = new URL(url);
  const demo_daemon = { host: at.hostname, port: Number(at.port) };
  const { json: paired } = await exchange(demo_daemon, "POST", "/pairings/redeem", { body: { code: at.hash.replace("#code=", "") } });
  const { json: { events } } = await exchange(demo_daemon, "GET", "/events?since=0&type=lock.waiting,work.unblocked", {
    headers: { Authorization: `Bearer ${paired.key}` },
  });
  const told = (type, of) => events.some((event) => event.type === type && (event.data.agent_id ?? event.data.task_id) === of);
  assert.ok(told("lock.waiting", "writer"), "the writer waited for the deployer's lock");
  assert.ok(told("work.unblocked", "deploy-release") && told("work.unblocked", "release-note"), "work waited for other work");
  assert.deepEqual(complaints, []);
});

// Output on the page in a real browser: colours, terminals, the work of agent programs; the events after a reload; the project.
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Agent, here, Project, waitFor } from "./harness.mjs";
import { openPage, picture, rowOf, violationsOf } from "./harness/browser.mjs";

const connected = (page) => page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
const styleOf = (locator, ...names) => locator.evaluate((element, wanted) => wanted.map((name) => getComputedStyle(element).getPropertyValue(name)), names);

test("the colours of a run's output are drawn and can be read in both schemes; nothing else of it is more than text", async (t) => {
  const project = await Project.started({}, t);
  const rows = Array.from({ length: 16 }, (_, i) => `\\033[${i < 8 ? 30 + i : 82 + i}mtext ${i}\\033[0m \\033[${i < 8 ? 40 + i : 92 + i}mpaper ${i}\\033[0m \\033[2;${i < 8 ? 30 + i : 82 + i}mdim ${i}\\033[0m`).join("\\n");
  await project.sh("colours", `printf '${rows}\\n\\033[1;3;4mloud\\033[0m \\033[7minverse\\033[0m \\033[38;5;208morange\\033[0m \\033[38;2;10;20;200mtrue\\033[0m\\n\\033[31mred\\nstill red\\033[0m\\n\\033]0;title\\007\\033[2J<b>plain</b>\\n'; sleep 600`);
  const { page, complaints } = await openPage(await project.link(), t, { scheme: "light" });
  const output = page.getByTestId("output");
  const text = (words) => output.getByText(words, { exact: true });
  await text("<b>plain</b>").waitFor();
  assert.equal(await output.locator("b").count(), 0);
  assert.ok(!/\x1b|\[\d+m|title/.test(await output.innerText()), "no sequence is left");
  assert.deepEqual(await styleOf(text("loud"), "font-weight", "font-style", "text-decoration-line"), ["700", "italic", "underline"]);
  const light = await styleOf(text("orange"), "color");
  assert.deepEqual(await styleOf(text("still red"), "color"), await styleOf(text("red"), "color"));
  assert.notDeepEqual(await styleOf(text("red"), "color"), await styleOf(text("<b>plain</b>"), "color"));
  assert.notDeepEqual(await styleOf(text("inverse"), "background-color"), ["rgba(0, 0, 0, 0)"]);
  await page.screenshot({ path: picture("colours-light") });
  assert.deepEqual(await violationsOf(page), [], "the contrast of all colours, in both schemes");
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notDeepEqual(await styleOf(text("orange"), "color"), light);
  await page.screenshot({ path: picture("colours-dark") });
  assert.deepEqual(complaints, []);
});

test("a run with a terminal is a terminal: recorded output, typing and the size, and no answer that nobody typed", async (t) => {
  const project = await Project.started({}, t);
  // What its time cuts off is kept: on a busy machine that may be in the middle of a line.
  const script = `printf '\\033[38;2;255;120;0morange\\033[0m \\033[c\\033[6n\\033]8;;http://evil/\\007link\\033]8;;\\007\\r\\n'; while :; do size=$(stty size); [ "$size" = "$last" ] || echo "size $size"; last=$size; read -r -t 0.2 part; ended=$?; line=$line$part; [ $ended -gt 128 ] && continue; echo "heard <$line>"; [ "$line" = bye ] && exit; line=; done`;
  await project.start("term", ["bash", "-c", script], { pty: true });
  await project.sh("lines", "echo only lines; sleep 600");
  await waitFor(async () => (await project.run("term")).last_seq > 0);

  const typed = [];
  const { page, complaints } = await openPage(`${await project.link()}&run=lines`, t, { before: () => { addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`)); } });
  page.on("request", (request) => {
    if (request.url().endsWith("/input")) typed.push(request.postDataJSON());
  });
  const loaded = () => page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes("terminal_screen")).length);
  await page.getByTestId("output").getByText("only lines").waitFor();
  assert.equal(await loaded(), 0, "the terminal is loaded only when it is needed");

  await rowOf(page, "term").click();
  const terminal = page.getByTestId("terminal");
  const shown = terminal.locator(".xterm-rows");
  await shown.getByText("orange").waitFor();
  assert.equal(await loaded(), 1);
  assert.equal(await terminal.locator("a, style").count(), 0);
  const foot = page.locator(".output-foot");
  const sizeShown = async () => (await foot.innerText()).match(/(\d+) × (\d+)/)?.slice(1).map(Number);
  const sizeSeen = async () => [...(await shown.innerText()).matchAll(/size (\d+) (\d+)/g)].at(-1)?.slice(1).map(Number).reverse();
  await waitFor(async () => { const size = await sizeShown(); return size && String(await sizeSeen()) === String(size); }, { what: "the run has the size that is shown" });
  const [wide] = await sizeShown();
  assert.deepEqual(typed, [], "the terminal has answered nothing");

  await terminal.click();
  await page.keyboard.type("hellö");
  await page.keyboard.press("Enter");
  await shown.getByText("heard <hellö>").waitFor();
  assert.equal(Buffer.concat(typed.map(({ data }) => Buffer.from(data, "base64"))).toString(), "hellö\r", "every key once, in order");
  await page.screenshot({ path: picture("terminal-dark") });
  assert.deepEqual(await violationsOf(page), []);
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path: picture("terminal-light") });

  // Keys that lead to views elsewhere are the run's here, until Ctrl-] leaves it.
  await page.keyboard.press("2");
  await page.keyboard.press("Enter");
  await shown.getByText("heard <2>").waitFor();
  await page.keyboard.press("Control+]");
  await page.keyboard.press("2");
  await page.getByRole("region", { name: "Board" }).waitFor();
  await page.keyboard.press("1");
  await shown.getByText("heard <2>").waitFor();

  await page.setViewportSize({ width: 1160, height: 700 });
  await waitFor(async () => { const [cols] = await sizeSeen() ?? []; return cols < wide && cols === (await sizeShown())[0]; }, { what: "the run has the new size" });

  // As text, and back.
  await page.getByLabel("As text").check();
  await page.getByTestId("output").getByText(/heard <hellö>/).first().waitFor();
  await page.getByLabel("As text").uncheck();
  await terminal.click();
  await page.keyboard.type("bye\n");
  await foot.getByText("the run has ended").waitFor();
  const sent = typed.length;
  await terminal.click();
  await page.keyboard.type("more");
  await page.reload();
  await shown.getByText("heard <bye>").waitFor();
  await foot.getByText("the run has ended").waitFor();
  assert.equal(typed.length, sent, "nothing is sent to a run that has ended");

  // One that is started while the page is open: the event does not say that it has a terminal.
  await project.start("later", ["sh", "-c", "echo it is later; cat"], { pty: true });
  await rowOf(page, "later").click();
  await shown.getByText("it is later").waitFor();
  assert.deepEqual(complaints, []);
});

test("a terminal that the browser cannot load is shown as text, and the page says why", async (t) => {
  const project = await Project.started({}, t);
  await project.start("term", ["sh", "-c", "printf '\\033[31mfirst\\033[0m\\r\\nsec'; sleep 0.5; printf 'ond\\r\\n'; cat"], { pty: true });
  const { page, context } = await openPage(`${await project.link()}&view=locks`, t);
  await connected(page);
  await context.route(/terminal_screen/, (route) => route.abort());
  await page.keyboard.press("1");
  await page.getByText("The terminal cannot be shown, so its output is shown as text").waitFor();
  await page.getByTestId("output").getByText("first", { exact: true }).waitFor();
  await page.getByTestId("output").getByText("second", { exact: true }).waitFor();
});

test("the work of an agent program is shown in words, and raw on request", async (t) => {
  const project = await Project.started({ bin: [join(here, "fixtures/bin")] }, t);
  await project.start("agent", [], { backend: "codex", task: "do it" });
  await project.ended("agent");
  const { page, complaints } = await openPage(await project.link(), t);
  await rowOf(page, "agent").click();
  const output = page.getByTestId("output");
  await output.getByText("argv do it").waitFor();
  assert.equal(await output.getByText('{"type":"turn.completed"}').count(), 0);
  await page.getByLabel("Raw").check();
  await output.getByText('{"type":"turn.completed"}').waitFor();
  await page.getByLabel("Raw").uncheck();
  await output.getByText('{"type":"turn.completed"}').waitFor({ state: "detached" });
  await output.getByText("argv do it").waitFor();
  assert.deepEqual(complaints, []);
});

test("after a reload the events are there again, each once, also behind much output", async (t) => {
  const project = await Project.started({}, t);
  const ada = new Agent(project, "ada");
  await ada.ask("register_session");
  for (const path of ["src/a.cc", "src/b.cc"]) await ada.ask("acquire_lock", { file_path: path });
  // How many lines are one event depends on how busy the machine is: they print until there is enough.
  const noisy = Array.from({ length: 8 }, (_, i) => `noisy-${i}`);
  for (const id of noisy) await project.sh(id, "while :; do echo again; sleep 0.15; done");
  await waitFor(async () => (await project.get("/events?since=0&type=agent.output")).json.events.length > 150, { what: "much output" });
  assert.equal((await project.cru("kill", ...noisy)).code, 0);
  const { page, complaints } = await openPage(await project.link(), t);
  const events = page.getByRole("region", { name: "Events" });
  const listed = async () => (await events.getByRole("listitem").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  const areThere = () => waitFor(async () => (await listed()).filter((text) => /lock\.acquired src\/[ab]\.cc/.test(text)).length === 2, { what: "both locks, once" });
  await areThere();
  await ada.ask("acquire_lock", { file_path: "src/new.cc" });
  await events.getByText("src/new.cc").first().waitFor();
  const before = await listed();
  await page.reload();
  await connected(page);
  await areThere();
  await waitFor(async () => (await listed()).length >= before.length, { what: "as many as before" });
  const after = await listed();
  for (const text of before) assert.equal(after.filter((other) => other === text).length, before.filter((other) => other === text).length, text);
  await page.screenshot({ path: picture("events-after-reload") });
  assert.deepEqual(complaints, []);
});

test("the page names its project in the title and in the header", async (t) => {
  const project = await Project.started({}, t);
  const { page } = await openPage(await project.link(), t);
  const name = basename(project.root);
  await page.getByRole("banner").getByText(name, { exact: true }).waitFor();
  assert.equal(await page.title(), `${name} · cru`);
  assert.equal(await page.getByRole("banner").getByText(name, { exact: true }).getAttribute("title"), project.root);
  await page.reload();
  await waitFor(async () => (await page.title()) === `${name} · cru`, { what: "the title after a reload" });
});

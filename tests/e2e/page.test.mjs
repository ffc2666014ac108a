// The page in a real browser: a run and its live output, a question answered, a daemon that dies and comes back.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { once } from "node:events";
import net from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { exchange, Project, repository, waitFor } from "./harness.mjs";

const pictures = join(repository, "build/pictures");
const flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(pictures, { recursive: true });

/// A port that stays the same over restarts, so that an open page finds its daemon again.
async function fixedPort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return `daemon: {port: ${port}}\n`;
}

async function open(project, t, { scheme = "dark", size = { width: 1360, height: 820 }, path = null } = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: flags });
  t.after(() => browser.close());
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, reducedMotion: "reduce", bypassCSP: false });
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_SOCKET/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(path ?? `${project.url}/#token=${project.token}`);
  return { browser, context, page, complaints };
}

test("the page shows runs and live output, answers a question, and survives a restart (EX-01, EX-04, EX-11, EX-12)", { timeout: 120_000 }, async (t) => {
  const project = await Project.started({ config: await fixedPort() }, t);
  const { page, complaints, context } = await open(project, t);
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  await page.getByText("cru run -- COMMAND").waitFor();
  await page.screenshot({ path: join(pictures, "empty.png") });
  assert.ok(!page.url().includes("token"), "the token leaves the address bar");

  await project.sh("build", "printf '\\033[32mcompiling\\033[0m\\n'; echo '<b>not bold</b>'; echo warning: unused >&2; while read -r line; do echo \"heard $line\"; done");
  const list = page.getByRole("navigation", { name: "Runs" });
  await list.getByText("build").waitFor();
  await list.getByText("running").waitFor();
  const output = page.getByTestId("output");
  await output.getByText("compiling", { exact: true }).waitFor();
  await output.getByText("<b>not bold</b>").waitFor();
  await project.post("/agents/build/input", { text: "live" });
  await output.getByText("heard live").waitFor();
  await page.getByTestId("link").getByText("live").waitFor();

  await project.sh("choose", "echo '::cru-ask {\"prompt\":\"Which database shall it be?\",\"options\":[\"SQLite\",\"Postgres\"]}'; read a; echo \"chose $a\"; sleep 600");
  const inbox = page.getByRole("region", { name: "Needs you" });
  await inbox.getByText("Which database shall it be?").waitFor();
  await page.getByRole("button", { name: /1 needs you/ }).waitFor();
  await page.screenshot({ path: join(pictures, "question.png") });
  const cursor = page.getByTestId("link");

  await project.killDaemon();
  await cursor.getByText(/stale/).waitFor();
  await page.screenshot({ path: join(pictures, "stale.png") });
  await project.startDaemon();
  await cursor.getByText("live").waitFor();
  await project.post("/agents/build/input", { text: "after the restart" });
  await output.getByText("heard after the restart").waitFor();
  assert.equal(await output.getByText("heard live").count(), 1, "nothing is shown twice");

  await inbox.getByRole("button", { name: "Postgres" }).click();
  await inbox.getByText("Nothing needs you").waitFor();
  await list.getByText("choose").click();
  await output.getByText("chose Postgres").waitFor();
  await page.getByRole("button", { name: "Kill", exact: true }).click();
  await page.getByRole("button", { name: "Kill it now" }).click();
  await list.getByText("killed").waitFor();

  await page.reload();
  await page.getByTestId("link").getByText("live").waitFor();
  await list.getByText("choose").waitFor();
  await page.getByRole("region", { name: "Events" }).getByText("agent.killed").waitFor();
  await page.screenshot({ path: join(pictures, "runs.png") });
  for (const scheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const { violations } = await (async () => {
      await page.evaluate(axe);
      return page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    })();
    assert.deepEqual(violations.map(({ id, nodes }) => `${scheme}: ${id}: ${nodes.map((node) => node.html).slice(0, 3)}`), []);
  }
  await page.screenshot({ path: join(pictures, "light.png") });
  await page.setViewportSize({ width: 390, height: 800 });
  await page.screenshot({ path: join(pictures, "narrow.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a long output stays quick: few rows in the document, following, scrolling back, following again", { timeout: 120_000 }, async (t) => {
  const project = await Project.started({}, t);
  await project.start("long", ["perl", "-e", "$|=1; print qq(row $_\\n) for 1..30000; while (<STDIN>) { print qq(more $_) }"]);
  await waitFor(async () => (await project.run("long")).last_seq >= 30_000);
  const { page, complaints } = await open(project, t);
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

test("without its token the page says what to do; its files are cached, compressed and locked down", { timeout: 60_000 }, async (t) => {
  const project = await Project.started({}, t);
  const { page } = await open(project, t, { path: `${project.url}/` });
  await page.getByRole("heading", { name: "This page needs its token." }).waitFor();
  const index = await exchange(project.tcp, "GET", "/", {});
  assert.equal(index.status, 200);
  assert.match(index.headers["content-security-policy"], /default-src 'none'|default-src 'self'/);
  assert.ok(!/unsafe-inline|unsafe-eval/.test(index.headers["content-security-policy"]));
  const gzip = await exchange(project.tcp, "GET", "/", { headers: { "Accept-Encoding": "gzip" } });
  assert.equal(gzip.headers["content-encoding"], "gzip");
  const again = await exchange(project.tcp, "GET", "/", { headers: { "If-None-Match": gzip.headers.etag } });
  assert.equal(again.status, 304);
});

// The page in a real browser.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { patience, repository, waitFor } from "./basics.mjs";

const pictures = join(repository, "build/pictures");
const flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(pictures, { recursive: true });

export const picture = (name) => join(pictures, `${name}.png`);
export const narrow = { width: 390, height: 800 };

/// Opens an address in a browser of its own. `complaints` are the page's errors; lost connections are none. `before` runs before
/// the page's own code.
export async function openPage(address, test, { scheme = "dark", motion = "reduce", size = { width: 1360, height: 820 }, before = null } = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CRU_CHROMIUM ?? "/usr/bin/chromium", args: flags, timeout: patience });
  test.after(() => browser.close());
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, reducedMotion: motion });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource|ERR_|WebSocket connection to .* failed/.test(message.text())) complaints.push(message.text());
  });
  if (before) await page.addInitScript(before);
  // Its daemon may be dead just now: a person would try again.
  await waitFor(() => page.goto(address).then(() => true), { what: "the page is there" });
  return { context, page, complaints };
}

/// The row of a member in the list `list`.
export const rowOf = (page, name, list = "Crew") =>
  page.getByRole("navigation", { name: list, exact: true }).getByRole("button").filter({ has: page.locator(".member-name").getByText(name) });

/// What an accessibility checker finds in both schemes, in words.
export async function violationsOf(page) {
  const found = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    found.push(...violations.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes.map((node) => node.html).slice(0, 3)}`));
  }
  return found;
}

/// How much wider than the window the page is, in pixels; 0 if it fits.
export const overflowOf = (page) => page.evaluate(() => Math.max(0, document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth));

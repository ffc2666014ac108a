#!/usr/bin/env node
// Bundles the page's unit tests (src/**/*.test.ts) and runs them, and the tests of imports and of the build, with node:test.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../build/web-tests");
const tests = readdirSync(join(here, "src"), { recursive: true }).filter((name) => name.endsWith(".test.ts")).sort();
rmSync(out, { recursive: true, force: true });
await build({
  entryPoints: tests.map((name) => join(here, "src", name)), outdir: out, outbase: join(here, "src"), outExtension: { ".js": ".mjs" },
  bundle: true, platform: "node", format: "esm", target: "node18", sourcemap: "inline", logLevel: "warning",
});
const files = [...tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs"))), join(here, "layering.test.mjs"), join(here, "xterm_for_csp.test.mjs"), join(here, "build.test.mjs")];
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", "--test-reporter=spec", ...files], { stdio: "inherit" });
process.exit(status ?? 1);

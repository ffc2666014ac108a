#!/usr/bin/env node
// Bundles the page and writes the files that embed it in the binary:
//   OUT/<name>-<hash>.<ext>.gz   the assets, compressed
//   OUT/web_bytes.S              includes them with .incbin
//   OUT/web_assets.cc            the table cru::edges::page_assets() (src/edges/http/assets.h)
// The output is reproducible: the same sources give the same bytes.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { xterm_for_csp } from "./xterm_for_csp.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../build/web"));
const budget = 250 * 1024;
const types = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
};

mkdirSync(out, { recursive: true });
for (const name of readdirSync(out)) if (/\.(gz|plain)$/.test(name)) rmSync(join(out, name));

const bundle = await build({
  entryPoints: { app: join(here, "src/shell/main.tsx"), style: join(here, "src/shell/style.css") },
  // What the page imports when it needs it is a file of its own. Its hash comes below: esbuild's depends on the folders, too.
  splitting: true, chunkNames: "[name]", plugins: [xterm_for_csp],
  bundle: true, minify: true, write: false, format: "esm", target: ["es2022", "chrome109", "firefox115", "safari16"],
  jsx: "automatic", jsxImportSource: "preact", outdir: out, legalComments: "eof", logLevel: "warning",
});

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
const assets = [];
function add(name, bytes, hashed = true) {
  const extension = extname(name);
  const mark = hash(bytes);
  const path = hashed ? `/assets/${name.slice(0, -extension.length)}-${mark}${extension}` : name;
  assets.push({ path, type: types[extension] ?? types[".html"], etag: `\\"${mark}\\"`, gzip: gzipSync(bytes, { level: 9 }), plain: Buffer.from(bytes) });
  return path;
}

const outputs = new Map(bundle.outputFiles.map(({ path, contents }) => [basename(path), contents]));
let app = Buffer.from(outputs.get("app.js")).toString();
for (const [name, contents] of outputs) {
  if (name === "app.js" || name === "style.css") continue;
  const path = add(name, contents);
  if (!app.includes(`"./${name}"`)) throw new Error(`web: nothing imports ${name}`);
  app = app.replaceAll(`"./${name}"`, `"./${basename(path)}"`);
}
const links = {
  script: add("app.js", Buffer.from(app)),
  style: add("style.css", outputs.get("style.css")),
  favicon: add("favicon.svg", readFileSync(join(here, "src/shell/favicon.svg"))),
};
const index = readFileSync(join(here, "src/shell/index.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => links[name]);
add("/", Buffer.from(index), false);

const total = assets.reduce((sum, { gzip }) => sum + gzip.length, 0);
if (total > budget) {
  console.error(`web: the page is ${total} bytes gzipped, over its budget of ${budget}`);
  process.exit(1);
}

let bytes = "/* made by web/build.mjs */\n  .section .rodata\n";
let table = "// made by web/build.mjs\n#include \"edges/http/assets.h\"\n\n#include <array>\n#include <cstddef>\n\nextern \"C\" {\n";
function embed(symbol, file, content) {
  writeFileSync(file, content);
  bytes += `  .global ${symbol}\n  .balign 16\n${symbol}:\n  .incbin "${file}"\n`;
  table += `extern const unsigned char ${symbol}[${content.length}];\n`;
}
// Uncompressed as well, for clients that do not accept gzip: what no client asks for is never read from the program's file.
assets.forEach(({ gzip, plain }, i) => {
  embed(`cru_web_${i}`, join(out, `asset${i}.gz`), gzip);
  embed(`cru_web_plain_${i}`, join(out, `asset${i}.plain`), plain);
});
bytes += '  .section .note.GNU-stack,"",%progbits\n';
table += "}\n\n@@";
writeFileSync(join(out, "web_bytes.S"), bytes);
writeFileSync(join(out, "web_assets.cc"), table.replace("@@", `namespace cru::edges {

std::span<const Asset> page_assets() {
  static const std::array<Asset, ${assets.length}> assets{{
${assets.map(({ path, type, etag }, i) => `      {"${path}", "${type}", "${etag}", cru_web_${i}, cru_web_plain_${i}},`).join("\n")}
  }};
  return assets;
}

}  // namespace cru::edges
`));
const late = assets.filter(({ path }) => /^\/assets\/(?!app-|style-|favicon-)/.test(path)).reduce((sum, { gzip }) => sum + gzip.length, 0);
console.log(`web: ${assets.length} assets, ${(total / 1024).toFixed(1)} KB gzipped, ${(late / 1024).toFixed(1)} KB of it loaded when needed`);

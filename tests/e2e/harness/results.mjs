// A reporter of node:test: one line of JSON for each test, for tools/ledger.mjs. {file, title, outcome}
import { basename } from "node:path";

export default async function* results(source) {
  for await (const { type, data } of source) {
    if ((type !== "test:pass" && type !== "test:fail") || data.nesting) continue;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    yield `${JSON.stringify({ file: basename(data.file ?? data.name), title: data.name, outcome: skipped ? "skipped" : type === "test:fail" ? "failed" : "passed" })}\n`;
  }
}

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sourcesUnder, violationsIn } from "./layering.mjs";

const src = join(dirname(fileURLToPath(import.meta.url)), "src");
const clean = {
  "base/text.ts": "", "ui/badge.tsx": 'import { text } from "../base/text.ts";\n', "work/model.ts": "", "runs/model.ts": "", "sessions/model.ts": 'import { work } from "../work/model.ts";\n',
  "runs/runs_fixture.ts": "", "runs/runs.test.ts": 'import "./runs_fixture.ts";\n', "locks/model.ts": 'import "../ui/badge.tsx";\n', "shell/main.tsx": 'import "../runs/model.ts";\nimport "../locks/model.ts";\n',
};

test("the folders of the page import only what is allowed", () => {
  assert.deepEqual(violationsIn(sourcesUnder(src)), []);
});

test("every kind of planted violation is found", () => {
  assert.deepEqual(violationsIn(new Map(Object.entries(clean))), []);
  const planted = [
    ["base/planted.ts", 'import { Badge } from "../ui/badge.tsx";', "base imports ui"],
    ["ui/planted.tsx", 'import type { Run } from "../runs/model.ts";', "ui imports a capability, if only a type"],
    ["locks/planted.ts", 'import { runs } from "../runs/model.ts";', "one capability imports another"],
    ["work/planted.ts", 'export { sessions } from "../sessions/model.ts";', "an allowed import in the other direction"],
    ["runs/planted.tsx", 'const main = await import("../shell/main.tsx");', "a capability imports the shell"],
    ["runs/planted.css", '@import "../shell/main.tsx";', "the same in a style sheet"],
    ["runs/planted.ts", 'import "./runs_fixture.ts";', "the page imports a fixture"],
    ["runs/planted.ts", 'import "./gone.ts";', "a missing file"],
    ["approvals/planted.tsx", 'const shown = safeText(approval.what);', "what is approved is shown as a terminal would"],
    ["trust/planted.tsx", '<Lines text={file.diff} is_output />', "the same of what is trusted"],
    ["inbox/planted.ts", 'const title = oneLine(question.prompt);', "the same of what is asked"],
    ["cellar/wine.ts", "", "an unknown folder"],
    ["planted.ts", "", "a file outside all folders"],
  ];
  for (const [name, text, why] of planted) {
    const found = violationsIn(new Map(Object.entries({ ...clean, [name]: `${text}\n` })));
    assert.ok(found.length === 1 && found[0].startsWith(`${name}:1: `), `${why}: ${JSON.stringify(found)}`);
  }
});

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sourcesUnder, violationsIn } from "./layering.mjs";

const src = join(dirname(fileURLToPath(import.meta.url)), "src");
const clean = {
  "base/text.ts": "", "ui/badge.tsx": 'import { text } from "../base/text.ts";\n', "inbox/model.ts": "", "runs/model.ts": 'import { questions } from "../inbox/model.ts";\n',
  "runs/runs_fixture.ts": "", "runs/runs.test.ts": 'import "./runs_fixture.ts";\n', "locks/model.ts": 'import "../ui/badge.tsx";\n', "shell/main.tsx": 'import "../runs/model.ts";\nimport "../locks/model.ts";\n',
};

test("the folders of the page import only what they may", () => {
  assert.deepEqual(violationsIn(sourcesUnder(src)), []);
});

test("a planted violation is seen, whichever it is", () => {
  assert.deepEqual(violationsIn(new Map(Object.entries(clean))), []);
  const planted = [
    ["base/planted.ts", 'import { Badge } from "../ui/badge.tsx";', "base looks up"],
    ["ui/planted.tsx", 'import type { Run } from "../runs/model.ts";', "ui looks up, for a type only"],
    ["locks/planted.ts", 'import { runs } from "../runs/model.ts";', "one capability imports another"],
    ["inbox/planted.ts", 'export { runs } from "../runs/model.ts";', "an edge the wrong way round"],
    ["runs/planted.tsx", 'const main = await import("../shell/main.tsx");', "a capability imports the shell"],
    ["runs/planted.css", '@import "../shell/main.tsx";', "the same in a style"],
    ["runs/planted.ts", 'import "./runs_fixture.ts";', "the page imports a fixture"],
    ["runs/planted.ts", 'import "./gone.ts";', "a file that is not there"],
    ["cellar/wine.ts", "", "a folder that nobody planned"],
    ["planted.ts", "", "a file outside all folders"],
  ];
  for (const [name, text, why] of planted) {
    const found = violationsIn(new Map(Object.entries({ ...clean, [name]: `${text}\n` })));
    assert.ok(found.length === 1 && found[0].startsWith(`${name}:1: `), `${why}: ${JSON.stringify(found)}`);
  }
});

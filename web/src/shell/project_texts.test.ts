import assert from "node:assert/strict";
import { test } from "node:test";
import { projectName, titleOf } from "./project_texts.ts";

test("a project is named by its folder, safe to show", () => {
  assert.deepEqual(["/home/ada/parser", "/home/ada/parser/", "/", ""].map(projectName), ["parser", "parser", "/", ""]);
  assert.equal(projectName("/home/ada/\u202egnp"), "‹U+202E›gnp");
});

test("the title of the tab begins with the project", () => {
  assert.deepEqual([titleOf("parser"), titleOf("")], ["parser · cru", "cru"]);
});

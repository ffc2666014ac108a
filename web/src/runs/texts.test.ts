import assert from "node:assert/strict";
import { test } from "node:test";
import { command, lastLine } from "./texts.ts";

test("a command is one safe line", () => {
  assert.equal(command({ task_id: "a", status: "running", argv: ["sh", "-c", "echo\n\x1b[31mhi"] }), "sh -c echo hi");
});

test("the last line of a terminal's record is the last that says something", () => {
  assert.deepEqual(["$ ls\r\n\x1b[31ma\x1b[0m\r\n", "one", "", "\r\n", "10%\r50%"].map(lastLine), ["a", "one", "", "", "50%"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { command } from "./texts.ts";

test("a command is one safe line", () => {
  assert.equal(command({ task_id: "a", status: "running", argv: ["sh", "-c", "echo\n\x1b[31mhi"] }), "sh -c echo hi");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { command, endReason } from "./texts.ts";

test("the reason for an end and its detail are not repeated", () => {
  assert.equal(endReason({ task_id: "a", status: "failed", error: "daemon restarted", error_detail: "exit 3" }), "daemon restarted: exit 3");
  assert.equal(endReason({ task_id: "a", status: "failed", exit_code: 2 }), "exit code 2");
  assert.equal(endReason({ task_id: "a", status: "completed", exit_code: 0 }), "");
});

test("a command is one safe line", () => {
  assert.equal(command({ task_id: "a", status: "running", argv: ["sh", "-c", "echo\n\x1b[31mhi"] }), "sh -c echo hi");
});

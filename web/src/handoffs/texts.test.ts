import assert from "node:assert/strict";
import { test } from "node:test";
import type { Changeset } from "./wire.ts";
import { describeFiles, describeRange, originOf } from "./texts.ts";

const changeset = (more: Partial<Changeset>): Changeset => ({
  id: "c1", session_id: "s1", base: "a".repeat(40), head: "b".repeat(40), files: [], file_count: 0, created_at: "", commits: null, more_commits: false, ...more,
});

test("the range of a changeset names both ends", () => {
  assert.equal(describeRange(changeset({})), "HEAD went from aaaaaaaaaaaa to bbbbbbbbbbbb");
  assert.equal(describeRange(changeset({ base: "0".repeat(40) })), "HEAD went from no commit to bbbbbbbbbbbb");
  assert.equal(describeRange(changeset({ base: null })), "HEAD went from unknown to bbbbbbbbbbbb");
  assert.equal(describeRange(changeset({ head: "a".repeat(40) })), "HEAD stayed at aaaaaaaaaaaa");
  assert.equal(describeRange(changeset({ base: null, head: null })), "");
  assert.equal(describeRange(changeset({ id: null, head: null })), "", "of a live session");
});

test("files are counted", () => {
  assert.equal(describeFiles(changeset({ file_count: 1 })), "1 file edited");
  assert.equal(describeFiles(changeset({ file_count: 1200 })), "1200 files edited");
  assert.equal(describeFiles(changeset({})), "No files were edited with its tools.");
});

test("a final handoff says whose words it has", () => {
  const handoff = { id: "h", agent_name: "ada", summary: "s" };
  assert.equal(originOf({ ...handoff, kind: "written" }), "written by the agent");
  assert.equal(originOf({ ...handoff, kind: "final" }), "written by cru when the session ended");
  assert.equal(originOf({ ...handoff, kind: "final", carries: "h0" }), "written by the agent, completed by cru when the session ended");
  assert.match(originOf({ ...handoff, kind: "final", empty: true }), /did nothing/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { member } from "./members_fixture.ts";
import { concernsMembers, filtered, findMember, inTree } from "./state.ts";

const shape = (...members: Parameters<typeof inTree>[0]) => inTree(members).map(({ member: { id }, depth }) => `${" ".repeat(depth)}${id}`);

test("children stand below their parents; whoever needs somebody brings its family to the top", () => {
  const child = member("child", { parent_id: "lead" }), grandchild = member("grandchild", { parent_id: "child" });
  assert.deepEqual(shape(member("ada"), member("lead"), grandchild, child), ["ada", "lead", " child", "  grandchild"]);
  assert.deepEqual(shape(grandchild, member("ada"), member("lead"), child), ["lead", " child", "  grandchild", "ada"]);
});

test("nobody is lost: not without its parent, and not with parents in a circle", () => {
  assert.deepEqual(shape(member("orphan", { parent_id: "gone" }), member("self", { parent_id: "self" })), ["orphan", "self"]);
  assert.deepEqual(shape(member("a", { parent_id: "b" }), member("b", { parent_id: "a" })), ["a", " b"]);
});

test("a list is limited to a facet, and to words in any case", () => {
  const none = { run: null, session: null, thread: null, body: null };
  const all = [member("build", { kind: "command", doing: "make ALL", facets: { ...none, run: "build" } }), member("ada", { badge: "needs you", facets: { ...none, session: "s", run: "ada" } })];
  const ids = (facet: Parameters<typeof filtered>[1]["facet"], words = "") => filtered(all, { facet, words }).map(({ id }) => id);
  assert.deepEqual([ids(null), ids("run"), ids("session"), ids("body")], [["build", "ada"], ["build", "ada"], ["ada"], []]);
  assert.deepEqual([ids(null, " all "), ids(null, "needs"), ids("session", "make")], [["build"], ["ada"], []]);
});

test("somebody is found by id or by facet", () => {
  const all = [member("m-1", { facets: { run: "build", session: null, thread: null, body: null } })];
  assert.equal(findMember(all, { by: "run", id: "build" })?.id, "m-1");
  assert.equal(findMember(all, { by: "member", id: "m-1" })?.id, "m-1");
  assert.equal(findMember(all, { by: "thread", id: "build" }), undefined);
});

test("output and movements change no badge; live agents matter only where they are visible", () => {
  const types = ["agent.output", "chat.text", "live.agent_moved", "live.user_moved", "agent.question", "session.updated", "chat.tool", "live.agent_state_changed", "heartbeat"];
  assert.deepEqual(types.filter((type) => concernsMembers({ type }, true)), types.slice(4));
  assert.deepEqual(types.filter((type) => concernsMembers({ type }, false)), ["agent.question", "session.updated", "chat.tool", "heartbeat"]);
});

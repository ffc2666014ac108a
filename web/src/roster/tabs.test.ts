import assert from "node:assert/strict";
import { test } from "node:test";
import type { Facets } from "../members/wire.ts";
import { shownTab, tabsOf } from "./tabs.ts";

const of = (facets: Partial<Facets>, has_handoffs = false) => tabsOf({ facets: { run: null, session: null, thread: null, body: null, ...facets } }, has_handoffs);

test("a member has a tab for each of its facets and no others", () => {
  assert.deepEqual(of({}), []);
  assert.deepEqual(of({ run: "build" }), ["output", "trace"]);
  assert.deepEqual(of({ run: "coder", session: "s1" }), ["output", "trace", "session", "handoffs"]);
  assert.deepEqual(of({ thread: "c", run: "mind" }), ["thread", "output", "trace"]);
  assert.deepEqual(of({ body: "agent_001" }), ["body", "trace"]);
  assert.deepEqual(of({}, true), ["handoffs"], "a session that has ended left its handoffs");
});

test("the requested tab is shown if there is one", () => {
  assert.equal(shownTab(["output", "handoffs"], "handoffs"), "handoffs");
  assert.equal(shownTab(["output", "handoffs"], "body"), "output");
  assert.equal(shownTab([], "output"), undefined);
});

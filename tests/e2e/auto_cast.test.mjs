// What a conversation of auto mode is made of: a topic of one's own, a cast that is chosen, and a provider that makes one wait.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { begin, ended, models, startedAuto, talkers } from "./harness/auto.mjs";

const quick = { live: { scripted_delay: "1ms", min_speech_time: "1ms", speech_per_character: "0ms" } };

test("the built-in script speaks about a topic of one's own, to an answer, and says nothing twice", async (t) => {
  const live = await startedAuto(quick, t);
  const socket = await live.connect();
  await begin(socket, { topic: "Should cats vote?", agentCount: 3 });
  assert.equal((await ended(socket)).reason, "keyword");
  const said = socket.of("agentMessage").map(({ text }) => text);
  assert.ok(said.length >= 8, said.join("\n"));
  assert.match(said[0], /We are asked: “Should cats vote\?” My claim is that cats should vote\./);
  assert.match(said[1], /I hold that cats should not vote/);
  assert.ok(said.filter((text) => /cats|vote/.test(text)).length * 2 >= said.length, said.join("\n"));
  assert.match(said.at(-1), /So my answer to “Should cats vote\?” is (yes|no)/);
  const sentences = said.flatMap((text) => text.match(/[^.?!]+[.?!]/g));
  assert.equal(new Set(sentences).size, sentences.length, sentences.filter((one, i) => sentences.indexOf(one) !== i).join("\n"));
});

test("who of the cast takes part can be chosen, over the socket, HTTP and the command line; nonsense is refused", async (t) => {
  const live = await startedAuto(quick, t);
  const socket = await live.connect();
  const choices = await live.must(200, live.get("/auto/topics"));
  assert.ok(choices.topics.length >= 24 && choices.topics.every(({ name, prompt }) => name && prompt.includes("?")));
  assert.equal(choices.personas.length, 8);
  assert.deepEqual(choices.patterns, ["walk-to-agent", "stay-at-desk", "meet-at-table"]);
  const { stdout } = await live.cru("auto", "topics");
  assert.match(stdout, /^zoo +Can a good zoo be justified/m);
  assert.match(stdout, /^Hugo +economist/m);

  const started = await begin(socket, { topic: "zoo", personas: ["Hugo", "grace"] });
  assert.deepEqual([started.personaNames, started.roles], [["Hugo", "Grace"], ["economist", "mediator"]]);
  await ended(socket);
  const three = await live.must(201, live.post("/auto/start", { topic: "zoo", personas: ["Finn"], agent_count: 3 }));
  assert.deepEqual(three.personaNames, ["Finn", "Ada", "Bertrand"], "others fill up");
  const other = await live.must(201, live.post("/auto/start", { topic: "zoo", personas: ["Finn", "Clara"], beside: true }));
  assert.deepEqual(other.personaNames, ["Finn 2", "Clara"], "whoever is busy has a number");
  await waitFor(async () => !(await live.must(200, live.get("/auto/conversations?active=true"))).conversations.length);
  assert.match((await live.cru("auto", "start", "zoo", "--personas", "Elif", "--personas", "Dario")).stdout, /Elif \(engineer\), Dario \(historian\)/);
  await live.cru("auto", "stop");
  for (const [input, field, words] of [
    [{ personas: ["Zoe", "Ada"] }, "personas", /nobody of the cast is named Zoe/],
    [{ personas: ["Ada", "ada"] }, "personas", /named twice/],
    [{ personas: ["Ada", "Finn", "Hugo"], agent_count: 2 }, "agent_count", /from 3 to 8/],
  ]) {
    const { status, json } = await live.post("/auto/start", input);
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(json.field, field);
    assert.match(json.message, words);
  }
});

test("what a provider makes a mind wait for does not count as its own time", async (t) => {
  const busy = { status: 429, headers: { "retry-after": "3" }, body: "{}" };
  const minds = await talkers(t, [busy, busy, busy, "At last. [CONVERSATION_END]"]);
  const live = await startedAuto({ minds, live: { think_timeout: "1500ms" } }, t);
  const socket = await live.connect();
  await begin(socket, { models });
  const end = await ended(socket);
  assert.equal(end.reason, "keyword", JSON.stringify(end));
  assert.equal(minds.server.requests.length, 4);
});

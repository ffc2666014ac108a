// Minds, as a person meets them: models served by a real HTTP server on loopback, over TLS and by a proxy; programs; keys.
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { test } from "node:test";
import { certificate, ModelServer } from "./fixtures/model_server.mjs";
import { Crew, key } from "./harness/crew.mjs";

const served = (provider, more = {}) => ({ provider, id: "model-1", prices: { input: 3, output: 15 }, ...more });
const mindsOf = async (crew) => Object.fromEntries((await crew.must(200, crew.get("/minds"))).minds.map((mind) => [mind.provider, mind]));

for (const provider of ["anthropic", "openai"])
  test(`a chat is answered by ${provider}'s API, with tools, tokens and cost`, async (t) => {
    const server = await ModelServer.start({ keys: [key] }, t);
    server.script(({ results }) => (results.length
      ? { text: `It says: ${results[0].text.includes("Push the button") ? "push" : "nothing"}`, usage: { input: 100, output: 10 } }
      : { text: "I look.", tools: [{ name: "read_note", input: { path: "deploy.md" } }], usage: { input: 50, output: 5 } }));
    const crew = await Crew.started({ server, models: { sonnet: served(provider) }, notes: { "deploy.md": "# Deploy\n\nPush the button.\n" } }, t);
    const chat = await crew.chat({ message: "How do we deploy?" });
    assert.equal(await chat.answer(), "It says: push");
    assert.deepEqual(server.refused, [], "it keeps to the API");
    const text = JSON.stringify(await crew.must(200, crew.get(chat.path)));
    assert.ok(!text.includes(key));
  });

test("what may pass is tried again, and the text begins anew", async (t) => {
  const server = await ModelServer.start({ keys: [key] }, t);
  server.script([{ status: 429, headers: { "retry-after": "0" } }, { status: 529, headers: { "retry-after": "0" } },
    { text: "half a reply that is cut", cutAfterBytes: 700 }, { text: "At last." }]);
  const crew = await Crew.started({ server, models: { sonnet: served("anthropic") } }, t);
  const chat = await crew.chat({ message: "hello" });
  assert.equal(await chat.answer(), "At last.");
  assert.equal(server.requests.length, 4);
});

test("slow bytes are borne, garbage is told, and the daemon lives", async (t) => {
  const server = await ModelServer.start({ keys: [key] }, t);
  const crew = await Crew.started({ server, models: { sonnet: served("anthropic") }, providers: { anthropic: { retries: 0 } } }, t);
  server.script({ text: "Grüße, langsam.", chunkBytes: 7, slowBytesMs: 1 });
  const chat = await crew.chat({ message: "slowly" });
  assert.equal(await chat.answer(), "Grüße, langsam.");
  server.script({ garbage: true });
  await chat.say("garbage");
  assert.match(JSON.stringify(await chat.record()), /invalid_reply|connection/);
  server.script({ text: "Well again." });
  await chat.say("and now?");
  assert.equal(await chat.answer(), "Well again.");
});

test("a server with a certificate of one's own authority needs ca_file", async (t) => {
  const tls = certificate(["localhost"], t);
  const server = await ModelServer.start({ keys: [key], tls }, t);
  const crew = await Crew.started({ server, models: { sonnet: served("anthropic"), haiku: served("openai") },
    providers: { anthropic: { ca_file: tls.ca_file }, openai: { retries: 0 } } }, t);
  assert.equal(await (await crew.chat({ message: "hello" })).answer(), "Hello.");
  const refused = await crew.chat({ message: "hello", model: "haiku" });
  assert.match(JSON.stringify(await refused.record()), /certificate/);
});

test("a provider's proxy is asked, and its password stays where it is", async (t) => {
  const server = await ModelServer.start({ keys: [key], proxy_auth: "me:sesame" }, t);
  const crew = await Crew.started({ server, models: { sonnet: served("anthropic") },
    providers: { anthropic: { proxy: `http://me:sesame@127.0.0.1:${server.port}` } } }, t);
  assert.equal(await (await crew.chat({ message: "hello" })).answer(), "Hello.");
  assert.ok(server.proxied.length > 0, "it went by the proxy");
  assert.ok(!JSON.stringify((await crew.get("/events")).text).includes("sesame"));
});

test("keys: from the environment, a file of one's own, or lent; a file that others can read is refused", async (t) => {
  const server = await ModelServer.start({ keys: [key] }, t);
  const crew = await Crew.started({ server, models: { sonnet: served("anthropic") } }, t);
  const file = crew.giveKey("anthropic", key, 0o644);
  let { anthropic } = await mindsOf(crew);
  assert.equal(anthropic.works, false);
  assert.match(anthropic.why, /can be read by others/);
  assert.equal(anthropic.fix, `chmod 600 ${file}`);
  await crew.must(200, crew.post("/minds/anthropic/key", { key }));
  ({ anthropic } = await mindsOf(crew));
  assert.equal(anthropic.works, true);
  assert.equal(await (await crew.chat({ message: "hello" })).answer(), "Hello.");
  chmodSync(file, 0o600);
  assert.equal((await crew.post("/minds/anthropic/key", { key: "two words" })).json.field, "key");
  assert.equal((await crew.post("/minds/claude/key", { key })).json.field, "provider");
});

test("without a mind it is said how to get one; an unknown model is refused with the nearest", async (t) => {
  const crew = await Crew.started({}, t);
  const none = await crew.spawnAgent({ agent: "explorer", task: "look", model: "sonet" });
  assert.equal(none.status, 400, none.text);
  assert.equal(none.json.field, "model");
  assert.match(none.json.hint, /did you mean sonnet/);
  const minds = await mindsOf(crew);
  assert.equal(minds.scripted.works, true);
  assert.equal(minds.anthropic.works, false);
  assert.match(minds.anthropic.fix, /ANTHROPIC_API_KEY/);
});

for (const program of ["claude", "codex", "gemini"])
  test(`${program} thinks as a supervised run, and its conversation is resumed`, async (t) => {
    const crew = await Crew.started({ standin: {}, models: { sonnet: { provider: program, id: "model-1" } } }, t);
    const chat = await crew.chat({ message: "say: hello" });
    await chat.say("and again");
    const starts = crew.starts(program);
    assert.equal(starts.length, 2, JSON.stringify(starts));
    const words = starts.map(({ argv }) => argv);
    assert.ok(words[0].includes("model-1"));
    assert.ok(!words[0].some((word) => /resume/.test(word)));
    assert.ok(words[1].some((word) => /resume/.test(word)), words[1].join(" "));
    assert.ok((await chat.answer())?.length > 0);
  });

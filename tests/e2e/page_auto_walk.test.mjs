// Auto mode on the page: how a conversation ends, and who walks where, as a person sees it in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "./harness.mjs";
import { models, startedAuto, talkers } from "./harness/auto.mjs";
import { openPage, picture, rowOf } from "./harness/browser.mjs";

async function open(live, t) {
  const { page, complaints } = await openPage(await live.link(), t, { motion: "no-preference", size: { width: 1360, height: 1000 } });
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await page.keyboard.press("5");
  const isOn = (is_on) => waitFor(async () => (await page.getByTestId("auto").getAttribute("aria-pressed")) === String(is_on), { what: `the button is ${is_on ? "on" : "off"}` });
  const transcript = page.getByRole("list", { name: "Transcript" });
  return {
    page, complaints, isOn, transcript, auto: page.getByTestId("auto"), ended: page.getByTestId("auto-ended"), map: page.getByTestId("map"),
    /// Where the list says that an agent is or goes.
    place: async (name) => /(at|going to) (\d+),(\d+)/.exec(await rowOf(page, name, "Live agents").textContent())?.slice(1) ?? [],
    lines: () => transcript.getByRole("listitem").count(),
  };
}

const isBeside = ([, x, y], other) => Math.abs(Number(x) - other.x) + Math.abs(Number(y) - other.y) === 1;
const agents = async (live) => (await live.must(200, live.get("/world"))).agents;
const slow = { min_speech_time: "1500ms", speech_per_character: "5ms", scripted_delay: "100ms" };

test("AM-04: on the page the keyword ends it, and is shown nowhere", async (t) => {
  const minds = await talkers(t, ["Let us begin.", "We agree. [CONVERSATION_END] And more."]);
  const live = await startedAuto({ minds }, t);
  const at = await open(live, t);
  const { page } = at;
  await page.getByRole("button", { name: "Topic and cast" }).click();
  const form = page.getByRole("form", { name: "Start a conversation" });
  await form.getByLabel("Models").fill(models[0]);
  await form.getByRole("button", { name: "Start" }).click();
  await at.ended.getByText(/Bertrand ended the conversation\.$/).waitFor();
  await at.isOn(false);
  await at.transcript.getByText("Let us begin.").waitFor();
  await at.transcript.getByText("We agree.").waitFor();
  assert.doesNotMatch(await page.locator("body").textContent(), /CONVERSATION_END|And more/);
  assert.deepEqual(at.complaints, []);
});

test("AM-11, AM-13: on the page the responder walks beside the speaker, and all are at their seats afterwards", async (t) => {
  const live = await startedAuto({ live: slow }, t);
  const at = await open(live, t);
  await at.auto.click();
  await at.isOn(true);
  await waitFor(async () => (await at.place("Bertrand"))[0] === "going to", { what: "the page shows that it walks" });
  const [ada] = await agents(live);
  await waitFor(async () => {
    const place = await at.place("Bertrand");
    return place[0] === "at" && isBeside(place, ada.position);
  }, { what: "it stands beside the one who spoke" });
  await at.transcript.getByText("Bertrand", { exact: true }).first().waitFor();
  // The map shows it there, too.
  const { cols } = (await live.must(200, live.get("/world"))).layout;
  const box = await at.map.boundingBox(), tile = box.width / cols;
  await waitFor(async () => {
    const [, x, y] = await at.place("Bertrand");
    await at.page.mouse.move(box.x + (Number(x) + 0.5) * tile, box.y + (Number(y) + 0.5) * tile);
    const words = at.page.getByTestId("last-words");
    return (await words.count()) && (await words.textContent()).startsWith("Bertrand:");
  }, { what: "hovering where it stands shows its words" });
  await at.page.screenshot({ path: picture("auto-mode-beside") });
  await at.auto.click();
  await at.isOn(false);
  const { seats } = await live.must(200, live.get("/world"));
  await waitFor(async () => {
    const homes = (await agents(live)).map(({ name, seat }) => [name, seats.find(({ uid }) => uid === seat)]);
    const places = await Promise.all(homes.map(async ([name, seat]) => [await at.place(name), seat]));
    return places.every(([[word, x, y], seat]) => word === "at" && Number(x) === seat.seatCol && Number(y) === seat.seatRow);
  }, { what: "the page shows everybody at the seat" });
  assert.deepEqual(at.complaints, []);
});

test("AM-12: on the page, where there is no way to the other, nobody walks, and the conversation goes on", async (t) => {
  const cols = 7, rows = 3;
  const tiles = Array.from({ length: cols * rows }, (_, i) => ([8, 9, 11, 12].includes(i) ? 1 : 0));
  const layout = { version: 1, cols, rows, tiles, furniture: [{ uid: "c1", type: "chair", col: 1, row: 1 }, { uid: "c2", type: "chair", col: 5, row: 1 }] };
  const live = await startedAuto({ notes: { ".crucible/layout.json": JSON.stringify(layout) } }, t);
  const at = await open(live, t);
  await at.auto.click();
  await at.isOn(true);
  await waitFor(async () => (await at.lines()) >= 4, { what: "they talk" });
  const places = await Promise.all(["Ada", "Bertrand"].map(at.place));
  assert.deepEqual(places.sort(), [["at", "1", "1"], ["at", "5", "1"]]);
  assert.equal((await live.must(200, live.get("/events?type=live.agent_moved&limit=10"))).events.length, 0);
  assert.deepEqual(at.complaints, []);
});

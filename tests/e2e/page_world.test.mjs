// The page's view of the live agents in a real browser: with a real daemon, and with a fake one for what a real one
// does not do at will (a refusal of every kind, an outage, a long walk).
import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedPort, Project, waitFor } from "./harness.mjs";
import { narrow, openPage, overflowOf, picture, rowOf, violationsOf } from "./harness/browser.mjs";
import { FakeWorld } from "./harness/fake_world.mjs";

/// Counts the frames that the map draws.
function countFrames() {
  const draw = CanvasRenderingContext2D.prototype.clearRect;
  globalThis.frames_drawn = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) { ++globalThis.frames_drawn; return draw.apply(this, box); };
}

async function open(address, t) {
  const { page, complaints } = await openPage(address, t, { motion: "no-preference", size: { width: 1360, height: 900 }, before: countFrames });
  await page.getByTestId("link").getByText("connected", { exact: true }).waitFor();
  await page.keyboard.press("5");
  const at = {
    page, complaints, map: page.getByTestId("map"), link: page.getByTestId("world-link"),
    row: (name) => rowOf(page, name, "Live agents"),
    card: (name) => page.getByRole("region", { name: `Agent ${name}`, exact: true }),
    notes: page.getByRole("list", { name: "Activity" }),
    say: page.getByRole("form", { name: "Say something" }),
    framesDrawn: () => page.evaluate(() => globalThis.frames_drawn),
    /// Waits until the page could have drawn so many frames.
    chancesToDraw: (count) => page.evaluate((left) => new Promise((done) => {
      const next = () => (left-- > 0 ? requestAnimationFrame(next) : done());
      next();
    }), count),
    async clickTile(x, y, cols) {
      const box = await at.map.boundingBox();
      const tile = box.width / cols;
      await at.map.click({ position: { x: (x + 0.5) * tile, y: (y + 0.5) * tile } });
    },
  };
  return at;
}

const cols = 20, rows = 11;
const layout = {
  version: 1, cols, rows, tiles: Array.from({ length: cols * rows }, (_, i) => (i % cols === 0 || i % cols === cols - 1 || i < cols || i >= cols * (rows - 1) ? 0 : 1)),
  furniture: [{ uid: "d1", type: "desk", col: 4, row: 3 }, { uid: "c1", type: "chair", col: 4, row: 4 }, { uid: "p1", type: "plant", col: 1, row: 1 }],
};

const answer = {
  agent_spawn_request({ agent_config }, world) {
    if (agent_config.cli_backend === "unheard-of") return { type: "error", code: "invalid_argument", field: "agent_config.cli_backend", message: "there is no mind \"unheard-of\"", hint: "cru minds" };
    const agent = world.join({ agent_id: `agent_${agent_config.name}`, position: { x: 2, y: 2 }, ...agent_config });
    return { type: "agent_spawned", agent_id: agent.agent_id, agent, mind: "scripted", warning: agent_config.cli_backend ? "small is not installed: it thinks by a script" : null };
  },
  assign_task: ({ agent_id, task_name }, world) => {
    world.tell({ type: "task_assigned", agent_id, task_id: "t1", task_name });
    return { type: "task_accepted", task: { task_id: "t1", agent_id, task_name, status: "assigned" } };
  },
  move_agent: ({ agent_id, x, y }, world) => {
    if (x >= cols - 1) return { type: "error", code: "invalid_argument", field: "x", message: `${x},${y} is a wall` };
    return { type: "move_accepted", agent_id, held: world.agents.get(agent_id)?.state === "speaking" };
  },
  chat_message: ({ message, to = [] }, world) => {
    world.tell({ type: "chat_broadcast", user_id: "player_0", name: "player_0", message, recipients: to, message_id: "m1", position: null });
    for (const agent_id of to) world.tell({ type: "message_receipt", message_id: "m1", agent_id, status: "acknowledged" });
    return { type: "message_accepted", message_id: "m1", recipients: to };
  },
  agent_terminate_request: ({ agent_id }, world) => {
    world.agents.delete(agent_id);
    world.tell({ type: "agent_left", agent_id, reason: "terminated" });
    return { type: "agent_terminated", agent_id };
  },
};

test("the world on the page: everything said by the socket is shown and can be done, an outage is told and made up for", async (t) => {
  const world = await FakeWorld.started({ layout, answer }, t);
  const at = await open(`${world.url}/#code=a-code`, t);
  const { page } = at;
  await page.getByRole("heading", { name: "Nobody here yet" }).waitFor();
  await page.getByText("cru spawn --live NAME").waitFor();
  assert.deepEqual(world.connections, [{ since: 0, token: "secret" }]);

  // Spawning: a refusal stands at its field, a warning is shown.
  await page.getByRole("button", { name: "Spawn an agent" }).click();
  const form = page.getByRole("form", { name: "Spawn a live agent" });
  await form.getByLabel("Name").fill("ada");
  await form.getByLabel("Role").fill("cook");
  await form.getByLabel("Mind").fill("unheard-of");
  await form.getByLabel("Position").fill("nowhere");
  await form.getByText("two numbers: column,row").waitFor();
  assert.ok(await form.getByRole("button", { name: "Spawn" }).isDisabled());
  await form.getByLabel("Position").fill("3,2");
  await form.getByRole("button", { name: "Spawn" }).click();
  await form.getByRole("alert").getByText("there is no mind \"unheard-of\" (cru minds)").waitFor();
  assert.equal(await form.getByLabel("Mind").getAttribute("aria-invalid"), "true");
  assert.deepEqual(await violationsOf(page), []);
  await page.screenshot({ path: picture("world-refused") });
  await form.getByLabel("Mind").fill("small");
  await form.getByLabel("Definition").selectOption("explorer");
  await form.getByRole("button", { name: "Spawn" }).click();
  await form.waitFor({ state: "detached" });
  await page.getByRole("status").getByText("small is not installed").waitFor();
  await at.row("ada").getByText("idle").waitFor();
  assert.deepEqual(world.asked.filter(({ type }) => type === "agent_spawn_request").at(-1).agent_config, { name: "ada", role: "cook", cli_backend: "small", definition: "explorer", initial_position: { x: 3, y: 2 } });
  await at.card("ada").getByText("agent_ada").waitFor();

  // States, words, tasks, trouble.
  for (const [i, name] of ["bob", "cleo", "<b>dan</b>\u202e"].entries()) world.join({ agent_id: `agent_${i}`, name, role: "guest", position: { x: 6 + 3 * i, y: 5 } });
  world.tell({ type: "agent_state_update", agent_id: "agent_0", state: "thinking", old_state: "idle", position: { x: 6, y: 5 }, current_task: "count the chairs", error: null });
  world.tell({ type: "agent_state_update", agent_id: "agent_1", state: "speaking", old_state: "thinking", position: { x: 9, y: 5 }, current_task: null, error: null });
  world.tell({ type: "agent_speech", agent_id: "agent_1", content: "I have looked at <i>every</i> shelf, and there is no salt left in this kitchen.", recipients: ["agent_0", "agent_ada"], recipient_count: 2, message_id: "m0", position: { x: 9, y: 5 } });
  world.tell({ type: "agent_state_update", agent_id: "agent_2", state: "idle", old_state: "thinking", position: { x: 12, y: 5 }, current_task: null, error: "the model did not answer within 30 s" });
  await at.row("bob").getByText("thinking").waitFor();
  await at.row("bob").getByText("count the chairs").waitFor();
  await at.row("cleo").getByText("there is no salt left").waitFor();
  await at.row("<b>dan</b>‹U+202E›").getByText("the model did not answer").waitFor();
  await at.notes.getByText("I have looked at <i>every</i> shelf").waitFor();
  await at.row("<b>dan</b>‹U+202E›").getByText("failed").waitFor();
  await page.getByText("4 live").waitFor();
  await page.screenshot({ path: picture("world") });
  assert.deepEqual(await violationsOf(page), []);

  // By keys: the roster is a list of buttons.
  await at.row("ada").focus();
  await page.keyboard.press("ArrowDown");
  await at.card("bob").waitFor();
  await at.card("bob").getByRole("textbox", { name: "Task" }).fill("count the spoons");
  await page.keyboard.press("Enter");
  await at.row("bob").getByText("count the spoons").waitFor();
  await at.card("bob").getByRole("textbox", { name: "Send to" }).fill("19,5");
  await page.keyboard.press("Enter");
  await at.card("bob").getByRole("alert").getByText("19,5 is a wall").waitFor();
  await at.say.getByLabel("Message").fill("well done");
  await page.keyboard.press("Enter");
  await at.say.getByRole("status").getByText("said to bob").waitFor();
  await at.notes.getByText("acknowledged by bob").waitFor();

  // By the map: a click on somebody chooses, one on a tile sends.
  await at.clickTile(9, 5, cols);
  await at.card("cleo").waitFor();
  world.agents.get("agent_1").state = "speaking";
  await at.clickTile(14, 8, cols);
  await page.getByText("it is speaking, and will move when it has finished").first().waitFor();
  assert.deepEqual(world.asked.filter(({ type }) => type === "move_agent").map(({ agent_id, x, y }) => [agent_id, x, y]).at(-1), ["agent_1", 14, 8]);

  // Frames are drawn while somebody walks, and no longer.
  const began = await at.framesDrawn();
  const path = Array.from({ length: 7 }, (_, i) => ({ x: 9 + i, y: 5 }));
  const walk = (more) => world.tell({ type: "agent_moved", agent_id: "agent_1", x: 15, y: 5, path, t0: new Date().toISOString(), t0_ms: Date.now(), ...more });
  walk({ speed: 0.1 });  // so slow that it is still on its way, however slowly the page is drawn
  await at.row("cleo").getByText("going to 15,5").waitFor();
  await waitFor(async () => (await at.framesDrawn()) > began + 20);
  await page.screenshot({ path: picture("world-walk") });
  walk({ speed: 3 });
  await at.row("cleo").getByText("at 15,5").waitFor();
  await waitFor(async () => { const before = await at.framesDrawn(); await at.chancesToDraw(40); return (await at.framesDrawn()) === before; }, { what: "no more frames are drawn" });
  await page.emulateMedia({ reducedMotion: "reduce" });
  const still = await at.framesDrawn();
  world.tell({ type: "agent_moved", agent_id: "agent_1", x: 9, y: 5, path: path.toReversed(), t0: new Date().toISOString(), t0_ms: Date.now(), speed: 3 });
  await at.row("cleo").getByText("at 9,5").waitFor();
  assert.ok((await at.framesDrawn()) - still < 10, "no walking for people who want no motion");

  // An outage: said, and made up for from the cursor.
  world.away();
  await at.link.getByText(/disconnected for \d+ s/).waitFor();
  await at.say.getByLabel("Message").fill("is anybody there?");
  await at.say.getByRole("button", { name: "Say" }).click();
  await at.say.getByRole("alert").getByText("cannot be reached").waitFor();
  const cursor = world.seq;
  world.tell({ type: "agent_left", agent_id: "agent_2", reason: "terminated" });
  world.agents.delete("agent_2");
  world.back();
  await at.link.getByText("connected", { exact: true }).waitFor();
  await at.row("<b>dan</b>").waitFor({ state: "detached" });
  assert.equal(world.connections.at(-1).since, cursor);
  assert.equal(await at.notes.getByText("I have looked at").count(), 1, "nothing is told twice");

  // Another log: the numbers are lower, and the snapshot (in pages) is believed.
  world.away();
  world.seq = 2;
  world.told = [];
  world.agents.delete("agent_0");
  world.back();
  await at.row("bob").waitFor({ state: "detached" });
  await at.row("cleo").waitFor();

  // Leaving the view closes the socket; coming back goes on.
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Board" }).click();
  await waitFor(() => world.clients.size === 0);
  await page.getByRole("link", { name: "World" }).click();
  await at.row("ada").click();
  await at.link.getByText("connected", { exact: true }).waitFor();
  await at.card("ada").getByRole("button", { name: "Terminate", exact: true }).click();
  await at.card("ada").getByRole("button", { name: "Terminate it now" }).click();
  await at.row("ada").waitFor({ state: "detached" });
  await page.setViewportSize(narrow);
  await page.screenshot({ path: picture("world-narrow"), fullPage: true });
  assert.equal(await overflowOf(page), 0);
  assert.deepEqual(at.complaints, []);
});

test("live agents on the page, with the real daemon: spawned, spoken to, given a task, sent away, ended", async (t) => {
  // A port of its own, kept over a restart; agents that do nothing unasked.
  const port = await fixedPort();
  const project = await Project.started({ config: `daemon: {port: ${port}}\nlive: {idle_time: 1h}\n` }, t);
  const at = await open(await project.link(), t);
  const { page } = at;
  const agentOf = async (name) => (await project.get("/live")).json.agents.find((agent) => agent.name === name);
  await page.getByRole("heading", { name: "Nobody here yet" }).waitFor();

  await page.getByRole("button", { name: "Spawn an agent" }).click();
  const form = page.getByRole("form", { name: "Spawn a live agent" });
  await form.getByLabel("Name").fill("ada");
  await form.getByLabel("Role").fill("librarian");
  await form.getByLabel("Mind").fill("no-such-mind");
  await form.getByRole("button", { name: "Spawn" }).click();
  await form.getByRole("alert").getByText(/no-such-mind/).waitFor();
  assert.equal(await form.getByLabel("Mind").getAttribute("aria-invalid"), "true", "the field that is to blame");
  await form.getByLabel("Mind").fill("mock");
  await form.getByRole("button", { name: "Spawn" }).click();
  await form.waitFor({ state: "detached" });
  await at.row("ada").getByText("librarian").waitFor();
  await at.card("ada").getByText("scripted").waitFor();
  const { json: world } = await project.get("/world");
  const { agent_id } = await agentOf("ada");

  // A task is given, and shown as its own.
  await at.card("ada").getByRole("textbox", { name: "Task" }).fill("sort the shelves");
  await at.card("ada").getByRole("button", { name: "Assign" }).click();
  await at.notes.getByText("was assigned a task: sort the shelves").waitFor();

  // Spoken to, it listens, thinks and answers; the words are in its row and among the notes.
  await at.say.getByLabel("Message").fill("Where is the atlas?");
  await at.say.getByRole("button", { name: "Say" }).click();
  await at.say.getByRole("status").getByText("said to ada").waitFor();
  await at.notes.getByText("“Where is the atlas?”", { exact: true }).waitFor();
  await at.notes.locator("li.is-said").filter({ has: page.locator("b", { hasText: /^ada$/ }) }).first().waitFor();
  await at.row("ada").locator(".is-words").waitFor();

  // Sent to a tile by typing; a wall is refused at the field.
  const { cols: width, tiles } = world.layout;
  const wall = tiles.indexOf(0);
  await at.card("ada").getByRole("textbox", { name: "Send to" }).fill(`${wall % width},${Math.floor(wall / width)}`);
  await at.card("ada").getByRole("button", { name: "Send" }).click();
  await at.card("ada").getByRole("alert").waitFor();

  // Another one comes by another way, and is there.
  const { json: bob } = await project.post("/live", { name: "bob", role: "guest" });
  await at.row("bob").waitFor();
  await page.screenshot({ path: picture("world-live") });
  assert.deepEqual(await violationsOf(page), []);
  // A click on the map sends whoever is chosen to a free tile.
  await at.row("bob").click();
  const taken = new Set((await project.get("/live")).json.agents.map(({ position }) => `${position.x},${position.y}`));
  const blocked = new Set(world.layout.furniture.flatMap(({ col, row }) => [0, 1, 2, 3].flatMap((dx) => [0, 1, 2, 3].map((dy) => `${col + dx},${row + dy}`))));
  const free = tiles.map((kind, i) => ({ kind, x: i % width, y: Math.floor(i / width) })).find(({ kind, x, y }) => kind >= 1 && kind <= 7 && !taken.has(`${x},${y}`) && !blocked.has(`${x},${y}`));
  await at.clickTile(free.x, free.y, width);
  await waitFor(async () => (await project.get(`/events?entity=${bob.agent_id}&type=live.agent_moved`)).json.events.some(({ data }) => data.x === free.x && data.y === free.y));
  await at.row("bob").locator(".member-line").getByText(`at ${free.x},${free.y}`).waitFor();

  // A person comes in, and is there for others.
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("button", { name: "Leave" }).waitFor();
  await waitFor(async () => (await project.get("/world")).json.users.some(({ user_id }) => user_id === "player_0"));

  // A reload shows the same; the daemon's restart is said and made up for, and the agents are still there.
  await page.reload();
  await at.row("ada").waitFor();
  await at.link.getByText("connected", { exact: true }).waitFor();
  await project.killDaemon();
  await at.link.getByText(/disconnected for \d+ s/).waitFor();
  await project.startDaemon();
  await at.link.getByText("connected", { exact: true }).waitFor();
  await at.row("ada").click();
  await at.card("ada").getByRole("button", { name: "Terminate", exact: true }).click();
  await at.card("ada").getByRole("button", { name: "Terminate it now" }).click();
  await at.row("ada").waitFor({ state: "detached" });
  assert.equal((await project.get(`/live/${agent_id}`)).status, 404);
  await at.row("bob").waitFor();
  assert.deepEqual(at.complaints, []);
});

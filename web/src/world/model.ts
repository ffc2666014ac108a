// The living state of the world: signals, the socket that moves them, and what a person does in it. The socket is open
// while somebody looks at the view, and goes on from its cursor when they come back.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post, tokenOfTab } from "../base/api.ts";
import type { Link } from "../base/connection.ts";
import type { LogEvent } from "../base/event.ts";
import { view } from "../base/views.ts";
import { WorldSocket } from "./socket.ts";
import { applyWorld, empty_world, hearersOf, inRoster, type Hearers, type World } from "./state.ts";
import type { Tile, WorldMessage } from "./wire.ts";

export const world = signal<World>(empty_world);
export const world_link = signal<Link>({ kind: "connecting" });
export const filter = signal("");
export const roster = computed(() => inRoster(world.value.agents, filter.value));
export const chosen = signal<string | null>(null);
export const chosen_agent = computed(() => (chosen.value ? world.value.agents.get(chosen.value) ?? null : null));
/// The tile that was clicked, for the form that sends somebody there.
export const aimed_at = signal<Tile | null>(null);

export const me = "player_0";
/// The person wants to be seen in the world: said again on each connection, for a connection's end is a leaving.
export const is_inside = signal(false);

/// How many live, for those who look at another view.
const population = signal(0);
export const live_agents = computed(() => (view.value === "world" && world.value.loaded ? world.value.agents.size : population.value));

// ---- messages: gathered for a moment, applied at once
const gathered_ms = 40;
const gathered_in_a_crowd_ms = 200;
const crowd = 200;
let waiting: WorldMessage[] = [];
let is_due = false;

function deliver(message: WorldMessage): void {
  waiting.push(message);
  if (is_due) return;
  is_due = true;
  setTimeout(flush, document.hidden ? 500 : world.peek().agents.size > crowd ? gathered_in_a_crowd_ms : gathered_ms);
}

function flush(): void {
  is_due = false;
  const messages = waiting;
  waiting = [];
  const before = world.peek();
  batch(() => {
    world.value = applyWorld(before, messages, Date.now());
    // Who was chosen and left is chosen no more; who was just spawned may be chosen before it is known.
    const id = chosen.peek();
    if (id && before.agents.has(id) && !world.peek().agents.has(id)) chosen.value = null;
  });
}

const socket = new WorldSocket({
  connect: (since) => {
    const query = new URLSearchParams({ token: tokenOfTab(), ...(since > 0 && { since: String(since) }) });
    return new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws?${query}`);
  },
  // What is gathered but not applied is seen already.
  cursor: () => {
    flush();
    return world.peek().loaded ? world.peek().cursor : 0;
  },
  deliver,
  tell: (link) => { if (link.kind !== "live" || world_link.peek().kind !== "live") world_link.value = link; },
  opened: () => { if (is_inside.peek()) enter(world.peek().users.get(me)?.position).catch(() => { is_inside.value = false; }); },
});

export function startWorld(): void {
  effect(() => (view.value === "world" ? socket.start() : socket.stop()));
}

// ---- how many there are, by the page's stream of events
let is_counting = false;
export function countLive(events: readonly LogEvent[]): void {
  if (is_counting || !events.some(({ type }) => /^(state\.snapshot|live\.agent_(joined|removed))$/.test(type))) return;
  is_counting = true;
  setTimeout(async () => {
    is_counting = false;
    try {
      const { total, agents } = await get<{ total?: number; agents: unknown[] }>("/live?limit=1");
      population.value = total ?? agents.length;
    } catch {
      // Only a number in the bar.
    }
  }, 250);
}

// ---- things a person does
export interface NewLife {
  name: string;
  role?: string;
  cli_backend?: string;
  definition?: string;
  task?: string;
  initial_position?: Tile;
}
/// Gives back the id, and a warning if it thinks with something else than was asked for.
export async function spawnLive(agent_config: NewLife): Promise<{ agent_id: string; mind: string; warning: string }> {
  const { agent_id, mind, warning } = await socket.ask("agent_spawn_request", { agent_config });
  return { agent_id: String(agent_id ?? ""), mind: String(mind ?? ""), warning: typeof warning === "string" ? warning : "" };
}
export const terminate = (agent_id: string) => socket.ask("agent_terminate_request", { agent_id });
export const assignTask = (agent_id: string, task_name: string) => socket.ask("assign_task", { agent_id, task_name });
/// True if it speaks, and goes when it has finished.
export const sendTo = async (agent_id: string, { x, y }: Tile): Promise<boolean> => (await socket.ask("move_agent", { agent_id, x, y })).held === true;

export type Audience = { kind: "near" } | { kind: "everybody" } | { kind: "one"; id: string };
/// Gives back who it went to.
export async function sayTo(hearers: Audience, text: string): Promise<Hearers> {
  const reply = hearers.kind === "everybody"
    ? await post<{ recipients?: unknown; recipient_count?: unknown }>("/world/say", { content: text, everybody: true, user_id: me })
    : await socket.ask("chat_message", { message: text, ...(hearers.kind === "one" && { to: [hearers.id] }) });
  return hearersOf(world.peek(), Array.isArray(reply.recipients) ? reply.recipients.map(String) : [], Number(reply.recipient_count) || 0);
}

export async function enter(at?: Tile | null): Promise<void> {
  await socket.ask("join_space", { space_id: world.peek().space_id, user_id: me, ...at });
  is_inside.value = true;
}
export async function leave(): Promise<void> {
  is_inside.value = false;
  await socket.ask("leave_space");
}
export const goTo = ({ x, y }: Tile) => post("/world/users/position", { user_id: me, x, y });

// Signals and actions for the world of the live agents. The socket is open while something of the world is shown, and
// continues from its cursor when that happens again.
import { batch, computed, effect, signal } from "@preact/signals";
import { get, post, tokenOfTab } from "../base/api.ts";
import type { Link } from "../base/connection.ts";
import { view } from "../base/views.ts";
import { WorldSocket } from "./socket.ts";
import { agentsByName, applyWorld, empty_world, recipientsOf, type Recipients, type World } from "./state.ts";
import { readAutoMode, no_auto_mode, withLines, type AutoLine } from "./auto_mode.ts";
import type { Tile, WorldMessage } from "./wire.ts";

export const world = signal<World>(empty_world);
export const world_link = signal<Link>({ kind: "connecting" });
export const agents_by_name = computed(() => agentsByName(world.value.agents));
export const selected = signal<string | null>(null);
export const selected_agent = computed(() => (selected.value ? world.value.agents.get(selected.value) ?? null : null));
/// The agent under the pointer on the map.
export const hovered = signal<string | null>(null);
export const auto_mode = computed(() => world.value.auto);
/// The conversation that was chosen among several; null for the main one.
export const chosen_conversation = signal<string | null>(null);
export const shown_conversation = computed(() => world.value.beside.get(chosen_conversation.value ?? "") ?? world.value.auto);
/// The tile that was clicked as the target of a movement.
export const target_tile = signal<Tile | null>(null);

export const own_user_id = "player_0";
/// Whether the user has joined the world. The daemon removes users when their connection ends, so the page joins again on
/// every connection.
export const has_joined = signal(false);

/// Whether another view shows something of the world.
export const is_body_shown = signal(false);

// ---- messages, applied in small batches
const batch_ms = 40;
const crowded_batch_ms = 200;
const crowd = 200;
let pending: WorldMessage[] = [];
let is_due = false;

function deliver(message: WorldMessage): void {
  pending.push(message);
  if (is_due) return;
  is_due = true;
  setTimeout(flush, document.hidden ? 500 : world.peek().agents.size > crowd ? crowded_batch_ms : batch_ms);
}

function flush(): void {
  is_due = false;
  const messages = pending;
  pending = [];
  const before = world.peek();
  batch(() => {
    world.value = applyWorld(before, messages, Date.now());
    // An agent that has left is no longer selected; one that was just spawned may be selected before it joins.
    const id = selected.peek();
    if (id && before.agents.has(id) && !world.peek().agents.has(id)) selected.value = null;
  });
}

const socket = new WorldSocket({
  connect: (since) => {
    const query = new URLSearchParams({ token: tokenOfTab(), ...(since > 0 && { since: String(since) }) });
    return new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws?${query}`);
  },
  // Messages that are not applied yet have been received.
  cursor: () => {
    flush();
    return world.peek().loaded ? world.peek().cursor : 0;
  },
  deliver,
  onLink: (link) => { if (link.kind !== "connected" || world_link.peek().kind !== "connected") world_link.value = link; },
  onOpen: () => { if (has_joined.peek()) join(world.peek().users.get(own_user_id)?.position).catch(() => { has_joined.value = false; }); },
});

/// What was said before the page was there, or while it was away.
async function readConversation(id: string): Promise<void> {
  const { messages = [] } = await get<{ messages?: { agent_id: string; name: string; text: string; at_ms: number; number: number }[] }>(`/auto/conversation?limit=400&id=${encodeURIComponent(id)}`);
  const known = world.peek(), beside = known.beside.get(id);
  const lines = messages.map(({ number, agent_id, name, text, at_ms }): AutoLine => ({ number, agent_id, name, text, at_ms }));
  if (known.auto.conversation === id) world.value = { ...known, auto: withLines(known.auto, lines) };
  else if (beside) world.value = { ...known, beside: new Map(known.beside).set(id, withLines(beside, lines)) };
}

export function startWorld(): void {
  let conversation = "";
  effect(() => {
    const shown = shown_conversation.value.conversation;
    if (!world.value.loaded || !shown || shown === conversation) return;
    conversation = shown;
    readConversation(shown).catch(() => { conversation = ""; });
  });
  effect(() => (view.value === "world" || is_body_shown.value ? socket.start() : socket.stop()));
}

// ---- actions
export interface LiveAgentConfig {
  name: string;
  role?: string;
  cli_backend?: string;
  definition?: string;
  task?: string;
  initial_position?: Tile;
}
/// Returns the id, and a warning if the agent uses another mind than requested.
export async function spawnLive(agent_config: LiveAgentConfig): Promise<{ agent_id: string; mind: string; warning: string }> {
  const { agent_id, mind, warning } = await socket.request("agent_spawn_request", { agent_config });
  return { agent_id: String(agent_id ?? ""), mind: String(mind ?? ""), warning: typeof warning === "string" ? warning : "" };
}
export const terminate = (agent_id: string) => socket.request("agent_terminate_request", { agent_id });
export const assignTask = (agent_id: string, task_name: string) => socket.request("assign_task", { agent_id, task_name });
/// Returns true if the agent is speaking, and will move when it has finished.
export const moveAgent = async (agent_id: string, { x, y }: Tile): Promise<boolean> => (await socket.request("move_agent", { agent_id, x, y })).held === true;

export interface AutoWishes {
  agentCount?: number;
  topic?: string;
  timeoutMs?: number;
  interactionPattern?: string;
  models?: string[];
  /// Of the built-in cast, and of the project's definitions.
  personas?: string[];
  definitions?: string[];
  /// Also while another conversation goes on.
  beside?: boolean;
  maxTurns?: number;
}
/// What a conversation can be made of.
export interface AutoChoices {
  topics: readonly { name: string; prompt: string }[];
  personas: readonly { name: string; role: string; character: string }[];
}
export const auto_choices = signal<AutoChoices>({ topics: [], personas: [] });
export async function readAutoChoices(): Promise<void> {
  if (auto_choices.peek().personas.length) return;
  const { topics = [], personas = [] } = await get<Partial<AutoChoices>>("/auto/topics");
  auto_choices.value = { topics, personas };
}

/// Conversations that are over, the newest first; null until they are asked for.
export const earlier_conversations = signal<readonly { id: string; topic: string; ended: string }[] | null>(null);
export async function readEarlier(): Promise<void> {
  const { conversations = [] } = await get<{ conversations?: { conversationId: string; topic: string; ended?: string | null; active: boolean }[] }>("/auto/conversations?limit=20");
  earlier_conversations.value = conversations.filter(({ active }) => !active).map(({ conversationId, topic, ended }) => ({ id: conversationId, topic, ended: ended ?? "" }));
}
/// Shows one of them as if it were beside the main one.
export async function openConversation(id: string): Promise<void> {
  const found = await get<Record<string, unknown>>(`/auto/conversation?limit=400&id=${encodeURIComponent(id)}`);
  const known = world.peek();
  batch(() => {
    if (known.auto.conversation !== id && !known.beside.has(id)) world.value = { ...known, beside: new Map(known.beside).set(id, readAutoMode(found, no_auto_mode)) };
    chosen_conversation.value = known.auto.conversation === id ? null : id;
  });
}

export const startAuto = (wishes: AutoWishes = {}) => socket.request("startAutoMode", { ...wishes });
export const stopAuto = (conversationId?: string) => socket.request("stopAutoMode", conversationId ? { conversationId } : {});
export const joinAuto = (conversationId: string) => socket.request("joinAutoMode", { conversationId });
export const leaveAuto = (conversationId: string) => socket.request("leaveAutoMode", { conversationId });
export const sayAuto = (text: string, conversationId: string) => socket.request("sayAutoMode", { text, conversationId });

export type Audience = { kind: "near" } | { kind: "everybody" } | { kind: "one"; id: string };
/// Returns the recipients.
export async function say(audience: Audience, text: string): Promise<Recipients> {
  const reply = audience.kind === "everybody"
    ? await post<{ recipients?: unknown; recipient_count?: unknown }>("/world/say", { content: text, everybody: true, user_id: own_user_id })
    : await socket.request("chat_message", { message: text, ...(audience.kind === "one" && { to: [audience.id] }) });
  return recipientsOf(world.peek(), Array.isArray(reply.recipients) ? reply.recipients.map(String) : [], Number(reply.recipient_count) || 0);
}

export async function join(at?: Tile | null): Promise<void> {
  await socket.request("join_space", { space_id: world.peek().space_id, user_id: own_user_id, ...at });
  has_joined.value = true;
}
export async function leave(): Promise<void> {
  has_joined.value = false;
  await socket.request("leave_space");
}
export const moveTo = ({ x, y }: Tile) => post("/world/users/position", { user_id: own_user_id, x, y });

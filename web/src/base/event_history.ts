// Reads the events from before the page was opened: the newest of all, and further back those that are not frequent, until the
// list of events is as full as it was.
import { CallFailed } from "./api.ts";
import { readEvents, type EventPage, type LogEvent } from "./event.ts";
import { isListed, isOutput } from "./event_log.ts";

const newest = 150;
const step = 1000;
const max_steps = 10;
const enough = 60;

/// Everything that the list shows, without output: GET /events can name types, but not leave one out.
export const listed_types = [
  ...["starting", "started", "completed", "failed", "killed", "question", "purged"].map((name) => `agent.${name}`),
  ...["question", "session", "lock", "work", "handoff", "memory", "team", "member", "pairing", "subagent", "definitions", "trust", "approval"].map((name) => `${name}.*`),
  ...["started", "entry", "waiting", "tool", "turn", "ended", "pruned"].map((name) => `chat.${name}`),
  ...["agent_joined", "agent_removed", "agent_spoke", "agent_broadcast", "task_assigned", "task_completed", "user_joined", "user_left"].map((name) => `live.${name}`),
].join(",");

type Reply = EventPage | EventPage["events"];

/// Events up to `cursor`, oldest first, each once. `get` reads GET /events with a query.
export async function readHistory(cursor: number, get: (query: string) => Promise<Reply>): Promise<LogEvent[]> {
  const found = new Map<number, LogEvent>();
  let floor = 0;  // the log has nothing up to here
  const read = async (since: number, query: string): Promise<void> => {
    let reply: Reply;
    try {
      reply = await get(`since=${Math.max(since, floor)}&${query}`);
    } catch (error) {
      const told = error instanceof CallFailed && error.failure.code === "cursor_gone" ? Number(error.failure.details?.floor) : NaN;
      if (!(told > floor)) throw error;
      floor = told;
      if (floor >= cursor) return;
      reply = await get(`since=${floor}&${query}`);
    }
    for (const event of readEvents("events" in reply ? reply.events : reply)) if (event.id !== null && event.id <= cursor) found.set(event.id, event);
  };
  const isEnough = () => [...found.values()].filter((event) => isListed(event) && !isOutput(event)).length >= enough;

  await read(Math.max(0, cursor - newest), `limit=${newest}`);
  let from = cursor - newest;
  for (let steps = 0; steps < max_steps && from > floor && !isEnough(); ++steps) {
    from -= step;
    await read(Math.max(0, from), `limit=${step}&type=${listed_types}`);
  }
  return [...found.values()].sort((a, b) => a.id! - b.id!);
}

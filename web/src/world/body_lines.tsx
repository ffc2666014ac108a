import { now } from "../base/clock.ts";
import { oneLine } from "../base/text.ts";
import { world } from "./model.ts";
import { behind, errorOf, positionText } from "./texts.ts";

/// What the map shows of a live agent, in words: where it is, its task, its problem and its last message.
export function BodyLines({ id }: { id: string }) {
  const agent = world.value.agents.get(id);
  if (!agent) return null;
  const error = errorOf(agent);
  return (
    <>
      <span class="member-line">{[positionText(agent, now.value + world.value.offset), behind(agent)].filter(Boolean).join(" · ")}</span>
      {agent.current_task && <span class="member-line">task: {oneLine(agent.current_task, 120)}</span>}
      {error && <span class="member-line is-error"><span aria-hidden="true">✗ </span>{error}</span>}
      {agent.last_message && <span class="member-line is-words">“{oneLine(agent.last_message, 160)}”</span>}
    </>
  );
}

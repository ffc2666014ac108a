import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, counted, oneLine } from "../base/text.ts";
import { ParagraphText } from "../ui/lines.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { Changes } from "./changes.tsx";
import { chains, handoff_list } from "./model.ts";
import { newestOf, type Chain } from "./state.ts";
import type { Handoff } from "./wire.ts";
import { originOf } from "./texts.ts";

const template = `cru handoffs write "summary of the current state" \\
  --completed-work "what is completed" \\
  --in-progress "what is in progress" \\
  --decisions "what was decided, and why" \\
  --next-steps "what comes next" \\
  --relevant-files src/main.cc`;

const parts: [keyof Handoff, string][] = [
  ["completed_work", "Completed"], ["in_progress", "In progress"], ["decisions", "Decisions"], ["next_steps", "Next steps"], ["relevant_files", "Relevant files"],
];

function Body({ handoff }: { handoff: Handoff }) {
  return (
    <>
      <ParagraphText text={handoff.summary} />
      <dl class="parts">
        {parts.map(([key, name]) => {
          const items = (handoff[key] ?? []) as string[];
          return items.length > 0 && (
            <div key={key} class={`part is-${key}`}>
              <dt>{name}</dt>
              <dd><ul>{items.map((item, i) => <li key={i}>{safeText(item)}</li>)}</ul></dd>
            </div>
          );
        })}
      </dl>
      <Changes handoff={handoff} />
    </>
  );
}

/// The handoffs of one agent: the newest that is not empty, then all others.
export function ChainCard({ chain }: { chain: Chain }) {
  const { shown, others } = newestOf(chain);
  if (!shown) return null;
  return (
    <article class="chain" aria-label={`Handoffs of ${safeText(chain.agent)}`}>
      <header>
        <h3>{safeText(chain.agent)}</h3>
        <span class="since">{ago(shown.created_at, now.value)} · {originOf(shown)}</span>
      </header>
      <Body handoff={shown} />
      {others.map((handoff) => (
        <details key={handoff.id} class={handoff.empty ? "is-empty" : ""}>
          <summary><span class="since">{ago(handoff.created_at, now.value)}</span> {oneLine(handoff.summary, 120)}</summary>
          <p class="since">{originOf(handoff)}</p>
          <Body handoff={handoff} />
        </details>
      ))}
    </article>
  );
}

export function Handoffs() {
  const all = chains.value;
  const count = all.reduce((sum, chain) => sum + chain.handoffs.length, 0);
  return (
    <Sheet title="Handoffs" count={`${count} from ${counted(all.length, "agent")}`} loaded={handoff_list.loaded.value} error={handoff_list.error.value} is_empty={!count} empty={(
      <>
        <h2>No handoffs yet</h2>
        <p>A handoff is a summary that one session leaves for the next. The next session of the same agent starts by reading it.</p>
        <pre><code>{template}</code></pre>
      </>
    )}>
      <div class="chains">{all.map((chain) => <ChainCard key={chain.agent} chain={chain} />)}</div>
    </Sheet>
  );
}

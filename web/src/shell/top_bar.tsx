import { useEffect, useRef } from "preact/hooks";
import { now } from "../base/clock.ts";
import { last_message_at, link } from "../base/connection.ts";
import { duration, oneLine } from "../base/text.ts";
import { addressOf, view, views, type View } from "../base/views.ts";
import { definitions } from "../definitions/model.ts";
import { chains } from "../handoffs/model.ts";
import { approvals } from "../approvals/model.ts";
import { questions } from "../inbox/model.ts";
import { isShownAsApproval } from "../inbox/state.ts";
import { locks } from "../locks/model.ts";
import { present } from "../members/model.ts";
import { LinkState } from "../ui/link_state.tsx";
import { open_work } from "../work/model.ts";
import { project } from "./daemon.ts";
import { openAsker } from "./navigation.ts";
import { projectName } from "./project_texts.ts";

const names: Record<View, string> = { crew: "Crew", board: "Board", locks: "Locks", handoffs: "Handoffs", world: "World", definitions: "Definitions" };

function Views() {
  const counts: Record<View, number> = {
    crew: present.value.length, board: open_work.value, locks: locks.value.length, handoffs: chains.value.reduce((sum, chain) => sum + chain.handoffs.length, 0),
    world: present.value.filter(({ facets }) => facets.body).length, definitions: definitions.value.length,
  };
  return (
    <nav class="views" aria-label="Views">
      {views.map((name, i) => (
        <a key={name} href={addressOf(name)} aria-current={view.value === name ? "page" : undefined} aria-keyshortcuts={String(i + 1)}>
          <kbd aria-hidden="true">{i + 1}</kbd>{names[name]}<span class="views-count">{counts[name] || ""}</span>
        </a>
      ))}
    </nav>
  );
}

export function TopBar() {
  const bar = useRef<HTMLElement>(null);
  // In a narrow window it stays above what is scrolled, in as many lines as it needs.
  useEffect(() => {
    const measured = new ResizeObserver(() => document.documentElement.style.setProperty("--bar-height", `${bar.current?.offsetHeight ?? 0}px`));
    measured.observe(bar.current!);
    return () => measured.disconnect();
  }, []);
  const first = approvals.value[0];
  const waiting = questions.value.filter((question) => !isShownAsApproval(question, approvals.value));
  const count = waiting.length + approvals.value.length;
  return (
    <header class="top" ref={bar}>
      <h1 class="mark">cru {project.value && <span class="project" title={oneLine(project.value)}>{projectName(project.value)}</span>}</h1>
      <Views />
      <span class="spacer" />
      {count > 0 && (
        <button class="flag" type="button" onClick={() => {
          if (!first) openAsker(waiting[0]!);
          document.getElementById(first ? `approval-${first.id}` : `question-${waiting[0]!.id}`)?.querySelector<HTMLElement>("button,input")?.focus();
        }}>
          <span aria-hidden="true">⚑</span> {count} {count === 1 ? "needs" : "need"} you
        </button>
      )}
      <LinkState at={link.value} id="link" title={`last message from the daemon ${duration(now.value - last_message_at.value)} ago`} />
    </header>
  );
}

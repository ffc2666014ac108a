import { safeText } from "../base/safe_text.ts";
import { oneLine } from "../base/text.ts";
import { NewChat } from "../crew/new_chat.tsx";
import { SpawnForm } from "../crew/spawn_form.tsx";
import { ThreadPane } from "../crew/thread_pane.tsx";
import { definitions } from "../definitions/model.ts";
import { ChainCard } from "../handoffs/handoffs.tsx";
import { MemberBadge } from "../members/member_badge.tsx";
import { members, members_loaded, memberWith } from "../members/model.ts";
import { memberAddress, spent, whatIs } from "../members/texts.ts";
import type { Member } from "../members/wire.ts";
import { RunPane } from "../runs/run_pane.tsx";
import { SessionPane } from "../sessions/session_pane.tsx";
import { TracePane } from "../traces/trace_pane.tsx";
import { Facts } from "../ui/facts.tsx";
import { BodyPane } from "../world/live_agent_card.tsx";
import { form, handoffs, member, requested_tab, showThread, tab, tabs, target } from "./model.ts";
import { tab_names, type Tab } from "./tabs.ts";

const idOf = (name: Tab) => `tab-${name}`;

/// The arrow keys, Home and End move between the tabs and show the one that receives the focus.
function moveBetweenTabs(event: KeyboardEvent): void {
  const all = tabs.peek();
  const at = all.indexOf(tab.peek()!);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  requested_tab.value = all.at(to % all.length)!;
  document.getElementById(idOf(requested_tab.value as Tab))?.focus();
}

function TabList() {
  return (
    <div class="tabs" role="tablist" aria-label="Details" onKeyDown={moveBetweenTabs}>
      {tabs.value.map((name) => (
        <button type="button" role="tab" key={name} id={idOf(name)} aria-selected={tab.value === name} aria-controls="tab-panel" tabIndex={tab.value === name ? 0 : -1}
          onClick={() => { requested_tab.value = name; }}>{tab_names[name]}</button>
      ))}
    </div>
  );
}

function Panel({ at: { id, facets }, shown }: { at: Member; shown: Tab }) {
  switch (shown) {
    case "output": return <RunPane id={facets.run!} />;
    case "thread": return <ThreadPane id={facets.thread!} />;
    case "session": return <SessionPane id={facets.session!} member={id} />;
    case "handoffs": return handoffs.value.length ? <>{handoffs.value.map((chain) => <ChainCard key={chain.agent} chain={chain} />)}</> : <p class="hint">It has not left a handoff yet.</p>;
    case "body": return <BodyPane id={facets.body!} />;
    case "trace": return <TracePane id={facets.thread ?? facets.body ?? facets.run!} />;
  }
}

function Parent({ at: { parent, parent_id } }: { at: Member }) {
  if (!parent) return null;
  const is_listed = parent_id && memberWith({ by: "member", id: parent_id });
  return <span>spawned by {is_listed ? <a href={memberAddress(parent_id)}>{safeText(parent)}</a> : safeText(parent)}</span>;
}

/// A member: its badge and why it has it, what it is, and a tab for each of its facets.
function MemberPane({ at }: { at: Member }) {
  const shown = tab.value;
  // These begin with what the member is doing, and scroll by themselves.
  const says_what = shown === "output" || shown === "thread";
  return (
    <section class="pane" aria-label={`Member ${safeText(at.name)}`}>
      <header class="pane-head">
        <div class="pane-title">
          <h2>{safeText(at.name)}</h2>
          <MemberBadge member={at} />
          <span class="faint">{whatIs(at)}</span>
          <Parent at={at} />
        </div>
        {at.evidence && at.evidence !== at.doing && <p class={at.badge === "failed" ? "pane-why" : "faint"}>{oneLine(at.evidence)}</p>}
        <Facts of={[["doing", says_what ? "" : at.doing], ["spent", spent(at)], ["pid", at.pid ? String(at.pid) : ""]]} />
      </header>
      {shown && <TabList />}
      {shown && (
        <div class={`panel ${says_what ? "" : "is-scrolled"}`} role="tabpanel" id="tab-panel" aria-labelledby={idOf(shown)} {...(!says_what && { tabIndex: 0 })}>
          <Panel key={shown} at={at} shown={shown} />
        </div>
      )}
    </section>
  );
}

function Nobody() {
  if (!members_loaded.value) return <section class="empty"><h2>Connecting to the daemon…</h2></section>;
  if (target.value && members.value.length) return <section class="empty"><h2>Not found</h2><p>This member is no longer in the list.</p></section>;
  return (
    <section class="empty">
      <h2>Nobody is here yet</h2>
      <p>Everybody who acts in this project appears here: runs, agents of any vendor, chats, subagents, live agents and people.</p>
      <pre><code>cru run -- COMMAND{"\n"}cru chat{"\n"}cru hooks install</code></pre>
      <button type="button" class="button is-main" onClick={() => { form.value = "chat"; }}>New chat</button>
    </section>
  );
}

/// The selected member, or the form to start a chat or a subagent.
export function Inspector() {
  if (form.value === "chat") return <section class="sheet" aria-label="New chat"><header class="sheet-head"><h2>New chat</h2></header><NewChat done={showThread} /></section>;
  if (form.value === "spawn") {
    return (
      <section class="sheet" aria-label="Spawn an agent"><header class="sheet-head"><h2>Spawn an agent</h2></header>
        <SpawnForm key={definitions.value[0]?.name} agent={definitions.value[0]?.name ?? ""} done={showThread} />
      </section>
    );
  }
  return member.value ? <MemberPane key={member.value.id} at={member.value} /> : <Nobody />;
}

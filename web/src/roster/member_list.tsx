import { now } from "../base/clock.ts";
import { safeText } from "../base/safe_text.ts";
import { ago, oneLine } from "../base/text.ts";
import { view } from "../base/views.ts";
import { ended, has_more, max_members, members_error, members_loaded, present, readAllEnded } from "../members/model.ts";
import { filtered, inTree, type Branch } from "../members/state.ts";
import { spent, stateOf, whatIs } from "../members/texts.ts";
import type { Facet, Member } from "../members/wire.ts";
import { LastLine } from "../runs/run_pane.tsx";
import { moveByKey } from "../ui/arrow_keys.ts";
import { Badge } from "../ui/badge.tsx";
import { BodyLines } from "../world/body_lines.tsx";
import { selected as selected_body } from "../world/model.ts";
import { filter, form, member as selected_member, select } from "./model.ts";

const max_shown = 200;
const searched_from = 8;
const max_indent = 5;

function Row({ member, depth }: Branch) {
  const { id, name, facets, doing, parent } = member;
  const in_world = view.value === "world";
  const is_selected = in_world ? facets.body !== null && facets.body === selected_body.value : id === selected_member.value?.id;
  return (
    <li>
      <button type="button" class={`member is-${stateOf(member.badge)} ${member.ended_at ? "is-ended" : ""}`} style={{ marginLeft: `${Math.min(depth, max_indent) * 14}px` }}
        aria-current={is_selected ? "true" : undefined} title={member.evidence ? oneLine(member.evidence) : undefined} onClick={() => select({ by: "member", id })}>
        <span class="member-name">{depth > 0 && <span class="faint" aria-hidden="true">└ </span>}{safeText(name)}</span>
        <span class="member-since">{ago(member.since, now.value)}</span>
        <Badge status={stateOf(member.badge)} word={member.badge} />
        <span class="member-what">{whatIs(member)}</span>
        {doing && <span class="member-line">{oneLine(doing, 160)}</span>}
        {facets.run && !member.ended_at && <LastLine id={facets.run} />}
        {in_world && facets.body && <BodyLines id={facets.body} />}
        {(parent || spent(member)) && (
          <span class="member-line is-facts">
            {parent && <span class={depth ? "visually-hidden" : ""}>by {safeText(parent)}</span>}
            {spent(member) && <span>{spent(member)}</span>}
          </span>
        )}
      </button>
    </li>
  );
}

function Rows({ members, label }: { members: Member[]; label: string }) {
  const all = inTree(members);
  if (!all.length) return null;
  return (
    <>
      <ul class="member-rows" aria-label={label} onKeyDown={moveByKey}>{all.slice(0, max_shown).map((branch) => <Row key={branch.member.id} {...branch} />)}</ul>
      {all.length > max_shown && <p class="hint">{all.length - max_shown} more. Use the filter to find them.</p>}
    </>
  );
}

const facets: [Facet | null, string][] = [[null, "All"], ["run", "Runs"], ["thread", "Chats"], ["session", "Sessions"], ["body", "Live"]];

/// Buttons that limit the list to the members with one facet.
function FacetFilter() {
  return (
    <div class="facet-filter" role="group" aria-label="Show">
      {facets.map(([facet, label]) => {
        const count = filtered(present.value, { facet, words: "" }).length;
        return (
          <button type="button" key={label} aria-pressed={filter.value.facet === facet} onClick={() => { filter.value = { ...filter.value, facet }; }}>
            {label}{facet === "thread" && <span class="visually-hidden"> and subagents</span>}{count > 0 && <span class="views-count">{count}</span>}
          </button>
        );
      })}
    </div>
  );
}

/// Everybody, or those with the `only` facet: who is here, then who has ended.
function List({ title, only }: { title: string; only?: Facet }) {
  const chosen = only ? { ...filter.value, facet: only } : filter.value;
  const here = filtered(present.value, chosen);
  const gone = only ? [] : filtered(ended.value, chosen);
  const total = present.value.length + ended.value.length;
  const toggle = (name: "chat" | "spawn") => { form.value = form.value === name ? null : name; };
  return (
    <nav class="roster" aria-label={title}>
      <div class="list-head">
        <h2 class="heading">{title}</h2>
        {!only && (
          <span class="row-buttons">
            <button type="button" class="button is-small" aria-expanded={form.value === "chat"} onClick={() => toggle("chat")}>New chat</button>
            <button type="button" class="button is-small" aria-expanded={form.value === "spawn"} onClick={() => toggle("spawn")}>Spawn</button>
          </span>
        )}
      </div>
      {!only && <FacetFilter />}
      {(total >= searched_from || filter.value.words) && (
        <p class="member-filter"><input type="search" aria-label="Filter the list" placeholder="Filter" value={filter.value.words} onInput={(event) => { filter.value = { ...filter.value, words: event.currentTarget.value }; }} /></p>
      )}
      {members_error.value && <p class="error" role="alert">Could not load the crew: {members_error.value}</p>}
      <div class="member-list">
        {!here.length && !members_error.value && <p class="hint">{!members_loaded.value ? "Loading…" : filter.value.words || chosen.facet ? "Nobody here matches." : "Nobody is here."}</p>}
        <Rows members={here} label={title} />
        {has_more.value.present && <p class="hint">Only the first {max_members} are listed.</p>}
        {gone.length > 0 && <h3 class="heading">Ended</h3>}
        <Rows members={gone} label="Ended" />
        {!only && has_more.value.ended && <p class="hint"><button type="button" class="button is-small" onClick={() => readAllEnded()}>Show more</button></p>}
      </div>
    </nav>
  );
}

export const CrewList = () => <List title="Crew" />;
export const LiveAgentList = () => <List title="Live agents" only="body" />;

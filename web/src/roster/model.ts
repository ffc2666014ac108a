// Signals for the view of the crew: the selected member and its tab, the filter, and the open form.
import { batch, computed, effect, signal } from "@preact/signals";
import { view } from "../base/views.ts";
import { handoff_list } from "../handoffs/model.ts";
import { chainsOf } from "../handoffs/state.ts";
import { questions } from "../inbox/model.ts";
import { ended, members_loaded, memberWith, present, readAllEnded, readMembers } from "../members/model.ts";
import { findMember, inTree, type Filter, type Target } from "../members/state.ts";
import { selected as selected_body, target_tile } from "../world/model.ts";
import { shownTab, tabsOf, type Tab } from "./tabs.ts";

export const filter = signal<Filter>({ facet: null, words: "" });
export const form = signal<"chat" | "spawn" | null>(null);

/// Who is selected. A target other than a member id follows its facet: the output of a run that is started again is the new
/// member's.
export const target = signal<Target | null>(null);
export const member = computed(() => (target.value ? memberWith(target.value) : undefined));
export const requested_tab = signal<string | null>(null);

/// Handoffs are found by an agent's name, which several members may have, and by the session of one without a name.
export const handoffs = computed(() => {
  const { agent_id, session_id } = member.value ?? {};
  return chainsOf(new Map([...handoff_list.items.value].filter(([, handoff]) => handoff.agent_name === agent_id || (!!session_id && handoff.session_id === session_id))));
});
export const tabs = computed(() => (member.value ? tabsOf(member.value, handoffs.value.length > 0) : []));
export const tab = computed(() => shownTab(tabs.value, requested_tab.value));

export function select(chosen: Target, chosen_tab: Tab | null = null): void {
  batch(() => {
    target.value = chosen;
    requested_tab.value = chosen_tab;
    form.value = null;
    const body = findMember(present.peek(), chosen)?.facets.body;
    if (body) [selected_body.value, target_tile.value] = [body, null];
  });
}

/// Selects a member and shows it.
export function open(chosen: Target): void {
  batch(() => {
    view.value = "crew";
    select(chosen);
  });
}

/// Selects somebody as soon as there is somebody: whoever asks, else the first. Whoever is not among those listed at first is
/// looked for once among all.
export function startRoster(): void {
  effect(() => {
    if (!members_loaded.value) return;
    if (target.value) {
      if (!member.value) readAllEnded();
      return;
    }
    const asking = questions.value.map((question) => memberWith({ by: "member", id: question.member ?? "" })).find(Boolean);
    const first = asking ?? inTree(present.value)[0]?.member ?? ended.value[0];
    if (first) target.value = { by: "member", id: first.id };
  });
}

/// Shows what was just started, and closes its form.
export async function showThread(id?: string): Promise<void> {
  form.value = null;
  if (!id) return;
  await readMembers();
  open({ by: "thread", id });
}

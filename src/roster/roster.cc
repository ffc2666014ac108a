#include "roster/roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "approvals/approval_table.h"
#include "autonomy/live_table.h"
#include "base/plain_words.h"
#include "base/text.h"
#include "budgets/budget_table.h"
#include "crew/crew_table.h"
#include "inbox/question_table.h"
#include "runs/run_table.h"
#include "sessions/session_table.h"

namespace cru::roster {
namespace {

using members::Activity;
using members::Facts;
using members::KeptBy;
using members::Kind;
using members::Member;
using members::Word;

constexpr Duration told_after_end = 1h;
constexpr int64_t max_lost = 200;
constexpr Duration rate_over = 5min;
constexpr int64_t max_recent_calls = 5000;
constexpr int64_t max_compared = 2000;  ///< members whose spending is compared

std::string command_of(const runs::Run& run) {
  if (!run.task.empty()) return run.task;
  std::string command;
  for (const auto& word : run.argv) command += (command.empty() ? "" : " ") + as_shell_word(word);
  return command;
}

Activity activity_of(const runs::Run& run, bool is_command) {
  auto since = run.started_at.value_or(run.created_at);
  if (run.status == runs::Status::starting) return {Word::queued, since, "it is being started"};
  return {is_command ? Word::using_tool : Word::thinking, since, command_of(run)};
}

/// A run that is over says all there is to say.
void add_end(Facts& facts, const runs::Run& run) {
  auto at = run.ended_at.value_or(run.created_at);
  auto how = describe_end(run);
  if (run.status == runs::Status::failed) facts.failed = Facts::Failed{how, at};
  if (!facts.ended) facts.ended = Facts::Ended{how, at};
  facts.ended->why = how;
}

void add_run(Reader& reader, Facts& facts, Entry& entry) {
  const auto& member = entry.member;
  auto run = runs::find_of_member(reader, member.id);
  if (!run) return;
  entry.run = run->task_id;
  if (entry.doing.empty()) entry.doing = command_of(*run);
  // A run of a thread or a body is one reply of it: its end says nothing of the member.
  if (is_active(run->status))
    facts.run = activity_of(*run, member.kind == Kind::command);
  else if (member.scope == "run:" + run->uid)
    add_end(facts, *run);
  if (member.scope != "run:" + run->uid) return;
  entry.tokens = run->report.tokens.value_or(0);
  entry.cost_usd = run->report.cost_usd;
}

std::optional<Facts::Session::Told> told_by(const coordination::Session& session) {
  using coordination::Turn;
  // A session without hooks that goes on after it was idle need not say so.
  if (session.turn == Turn::unknown || (session.turn == Turn::idle && !session.kept_by_hook)) return {};
  auto word = session.turn == Turn::idle         ? Word::idle
              : session.turn == Turn::thinking   ? Word::thinking
              : session.turn == Turn::needs_user ? Word::needs_you
              : session.turn == Turn::failed     ? Word::failed
                                                 : Word::using_tool;
  return Facts::Session::Told{word, session.turn_since, session.tool};
}

void add_session(Reader& reader, Facts& facts, Entry& entry) {
  for (const auto& session : coordination::list_sessions_of_member(reader, entry.member.id)) {
    entry.session = session.session_id;
    if (!session.current_task.empty()) entry.doing = session.current_task;
    bool is_newer = !facts.session || facts.session->last_heartbeat < session.last_heartbeat.wall;
    if (!is_newer) continue;
    facts.session =
        Facts::Session{.is_idle = session.is_person() || session.presence == coordination::Presence::idle,
                       .tells_idle = session.kept_by_hook,
                       .lasts = entry.member.host.has_value(),
                       .last_heartbeat = session.last_heartbeat.wall,
                       .doing = session.current_task,
                       .told = told_by(session)};
  }
  if (entry.doing.empty() && facts.session && facts.session->told) entry.doing = facts.session->told->tool;
}

/// What the last word in a thread says of what its agent does now.
Activity activity_in(Reader& reader, const std::string& thread, const std::string& task) {
  auto last = crew::last_entry_of(reader, thread);
  if (!last) return {Word::thinking, {}, task};
  bool uses_tool = last->role == crew::Role::assistant && !last->message.uses.empty();
  if (uses_tool) return {Word::using_tool, last->at, last->message.uses.front().name};
  return {Word::thinking, last->at, task};
}

void add_spent(Entry& entry, const crew::Spent& spent) {
  entry.tokens = spent.usage.total();
  entry.cost_usd = spent.cost_usd;
}

void add_subagent(Reader& reader, Facts& facts, Entry& entry, const crew::Subagent& subagent) {
  entry.doing = subagent.task;
  add_spent(entry, subagent.spent);
  auto over_at = subagent.completed_at.value_or(subagent.spawned_at);
  switch (subagent.status) {
    case crew::Status::queued:
      facts.thread = Activity{Word::queued, subagent.spawned_at, subagent.task};
      break;
    case crew::Status::running:
      facts.thread = activity_in(reader, subagent.task_id, subagent.task);
      if (subagent.parked)
        facts.thread = Activity{Word::queued, facts.thread->since, crew::in_words(*subagent.parked)};
      break;
    case crew::Status::failed:
      facts.failed = Facts::Failed{subagent.failure.message, over_at};
      break;
    case crew::Status::completed:
    case crew::Status::cancelled:
      break;
  }
}

void add_chat(Reader& reader, Facts& facts, Entry& entry, const crew::Chat& chat) {
  entry.is_chat = true;
  entry.doing = chat.title;
  add_spent(entry, chat.spent);
  auto last = crew::last_entry_of(reader, chat.id);
  auto at = last ? last->at : chat.started_at;
  bool has_failed = !chat.failure.type.empty() && chat.failure.type != "cancelled";
  if (chat.turn_running && chat.parked)
    facts.thread = Activity{Word::queued, at, crew::in_words(*chat.parked)};
  else if (chat.turn_running)
    facts.thread = activity_in(reader, chat.id, chat.title);
  else if (has_failed)
    facts.failed = Facts::Failed{chat.failure.message, chat.ended_at.value_or(at)};
  else
    facts.thread = Activity{Word::idle, at, {}};
}

void add_thread(Reader& reader, Facts& facts, Entry& entry) {
  entry.thread = kept_id(entry.member);
  if (auto subagent = crew::find_subagent(reader, entry.thread))
    add_subagent(reader, facts, entry, *subagent);
  else if (auto chat = crew::find_chat(reader, entry.thread))
    add_chat(reader, facts, entry, *chat);
  else
    entry.thread.clear();  // pruned
}

Word word_of(autonomy::State state) {
  switch (state) {
    case autonomy::State::idle:
      return Word::idle;
    case autonomy::State::listening:
      return Word::listening;
    case autonomy::State::thinking:
      return Word::thinking;
    case autonomy::State::speaking:
      return Word::speaking;
  }
  return Word::idle;
}

void add_body(Reader& reader, Facts& facts, Entry& entry, Time now) {
  auto body = autonomy::find_agent(reader, kept_id(entry.member));
  if (!body) return;
  entry.body = body->nature->id;
  if (entry.doing.empty()) entry.doing = body->nature->role;
  bool speaks = body->state == autonomy::State::speaking;
  facts.body = Activity{word_of(body->state), body->since, speaks ? body->last_message : std::string()};
  auto limit = autonomy::find_limit(reader, body->nature->id);
  if (limit && *limit > now) facts.until = *limit;
  if (limit && *limit > now && body->state == autonomy::State::idle)
    facts.body = Activity{Word::queued, body->since, autonomy::limit_in_words(*body->nature, *limit)};
  if (!body->error.empty()) facts.failed = Facts::Failed{body->error, body->since};
}

Entry entry_of(Reader& reader, Member member, const Asked& asked, Time now) {
  Entry entry{.member = std::move(member),
              .badge = {},
              .parent = {},
              .doing = {},
              .run = {},
              .session = {},
              .thread = {},
              .body = {}};
  const auto& who = entry.member;
  entry.doing = who.doing;
  Facts facts{.started_at = who.started_at};
  if (auto waits = asked.find(who.id); waits != asked.end())
    facts.asked = Facts::Asked{waits->second.what, waits->second.since};
  if (who.ended_at) facts.ended = Facts::Ended{who.end_reason, *who.ended_at, who.left_behind};
  add_run(reader, facts, entry);
  add_session(reader, facts, entry);
  if (who.kept_by == KeptBy::thread) add_thread(reader, facts, entry);
  if (who.kept_by == KeptBy::body) add_body(reader, facts, entry, now);
  entry.doing = first_line(trim(entry.doing));
  entry.badge = badge(facts, now);
  return entry;
}

/// A chat's id is made of its title: it is hidden too.
void hide_conversations(std::vector<Entry>& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.is_chat; });
  for (auto& entry : entries) {
    if (entry.member.kept_by != KeptBy::thread) continue;
    entry.doing.clear();
    entry.badge.evidence.clear();
    entry.member.parent.clear();
  }
}

/// Whoever has ended badly is told of for a while, unless it is there again under its name.
void add_lost(Reader& reader, std::vector<Entry>& entries, const Asked& asked, Time now) {
  auto is_listed = [&](const Member& member) {
    return std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.member.id == member.id || entry.member.name == member.name;
    });
  };
  std::vector<Entry> lost;
  for (auto& member : members::list_ended_since(reader, now - told_after_end, max_lost)) {
    if (is_listed(member)) continue;
    auto entry = entry_of(reader, std::move(member), asked, now);
    if (entry.badge.word <= Word::disconnected) lost.push_back(std::move(entry));
  }
  std::ranges::move(lost, std::back_inserter(entries));
}

bool needs_somebody(const Entry& entry, Time now) {
  const auto& ended_at = entry.member.ended_at;
  return entry.badge.word <= Word::disconnected && (!ended_at || now - *ended_at <= told_after_end);
}

/// Whoever waits for an answer is listed, however many others there are.
void add_askers(Reader& reader, std::vector<Member>& listed, const Asked& asked) {
  for (const auto& [id, waits] : asked) {
    if (std::ranges::any_of(listed, [&](const Member& one) { return one.id == id; })) continue;
    if (auto asker = members::find_member(reader, id); asker && !asker->is_ended())
      listed.push_back(*std::move(asker));
  }
}

}  // namespace

Asked list_asked(Reader& reader) {
  Asked asked;
  for (auto& question : inbox::list(reader, "", true))
    asked.emplace(question.member, Waiting{std::move(question.prompt), question.asked_at});
  for (auto& approval : approvals::list(reader, true)) {
    Waiting waits{fmt::format("approval {}: {}", approval.id, approval.proposal().what),
                  approval.requested_at};
    auto [known, is_new] = asked.try_emplace(approval.request.member, waits);
    if (!is_new && waits.since < known->second.since) known->second = std::move(waits);
  }
  asked.erase("");
  return asked;
}

Page list(Reader& reader, const Query& query, Time now) {
  auto found = members::list_members(reader, query.with_ended, query.limit + 1);
  Page page;
  page.more = static_cast<int64_t>(found.size()) > query.limit;
  if (page.more) found.pop_back();
  auto asked = list_asked(reader);
  add_askers(reader, found, asked);
  for (auto& member : found) page.entries.push_back(entry_of(reader, std::move(member), asked, now));
  if (!query.with_ended) add_lost(reader, page.entries, asked, now);
  std::map<std::string, std::string> names;
  for (auto& entry : page.entries) {
    if (entry.member.parent.empty()) continue;
    auto [known, is_new] = names.try_emplace(entry.member.parent);
    if (is_new)
      if (auto parent = members::find_member(reader, entry.member.parent)) known->second = parent->name;
    entry.parent = known->second;
  }
  if (!query.with_conversations) hide_conversations(page.entries);
  std::vector<Entry> in_order;
  for (bool is_first : {true, false})
    for (auto& entry : page.entries)
      if (needs_somebody(entry, now) == is_first) in_order.push_back(entry);
  page.entries = std::move(in_order);
  return page;
}

std::map<std::string, members::Badge> badges_of(Reader& reader, const std::vector<std::string>& ids,
                                                Time now) {
  std::map<std::string, members::Badge> badges;
  auto asked = list_asked(reader);
  for (const auto& id : ids)
    if (auto member = members::find_member(reader, id))
      badges[id] = entry_of(reader, *std::move(member), asked, now).badge;
  return badges;
}

std::string parked_for(Reader& reader, const runs::Run& run) {
  if (is_active(run.status) || run.member.empty()) return {};
  auto member = members::find_member(reader, run.member);
  if (!member || member->kept_by != KeptBy::thread || member->is_ended()) return {};
  auto newest = runs::find_of_member(reader, run.member);
  if (!newest || newest->uid != run.uid) return {};
  auto thread = kept_id(*member);
  std::optional<crew::Parked> parked;
  if (auto subagent = crew::find_subagent(reader, thread))
    parked = subagent->parked;
  else if (auto chat = crew::find_chat(reader, thread))
    parked = chat->parked;
  return parked ? crew::in_words(*parked) : std::string();
}

Page list_spending(Reader& reader, const Query& query, Time now) {
  auto wide = query;
  wide.limit = std::max(query.limit, max_compared);
  auto page = list(reader, wide, now);
  std::map<std::string, double> recent;
  double all = 0;
  for (const auto& call : budgets::calls_since(reader, now - rate_over, max_recent_calls)) {
    // What a long one spent before is not of these minutes.
    auto share = call.spent.time > rate_over
                     ? static_cast<double>(rate_over.count()) / static_cast<double>(call.spent.time.count())
                     : 1.0;
    recent[call.member] += share * static_cast<double>(call.spent.tokens);
    all += share * static_cast<double>(call.spent.tokens);
  }
  page.tokens_a_minute = static_cast<int64_t>(all / static_cast<double>(rate_over / 1min));
  for (auto& entry : page.entries) {
    const auto& id = entry.member.id;
    if (auto found = recent.find(id); found != recent.end())
      entry.tokens_a_minute = static_cast<int64_t>(found->second / static_cast<double>(rate_over / 1min));
    if (entry.tokens > 0) continue;
    auto spent = budgets::spent_of(reader, "member:" + id);
    entry.tokens = spent.tokens;
    if (spent.tokens > 0 && spent.unpriced == 0) entry.cost_usd = budgets::to_usd(spent.micro_usd);
  }
  std::ranges::sort(page.entries, [](const Entry& a, const Entry& b) {
    return std::tuple(b.tokens_a_minute, b.tokens, a.member.name) <
           std::tuple(a.tokens_a_minute, a.tokens, b.member.name);
  });
  // Only now: whoever spends most may be the oldest.
  int64_t listed = 0;
  auto cut = std::erase_if(page.entries, [&](const Entry& entry) {
    return ++listed > query.limit && !needs_somebody(entry, now);
  });
  page.more = page.more || cut > 0;
  return page;
}

members::Badge badge_of(Reader& reader, const runs::Run& run, const Asked& asked, Time now) {
  if (is_active(run.status)) {
    auto member = members::find_member(reader, run.member);
    if (member) return entry_of(reader, *std::move(member), asked, now).badge;
  }
  Facts facts{.started_at = run.created_at};
  if (is_active(run.status))
    facts.run = activity_of(run, run.backend == "command");
  else
    add_end(facts, run);
  return badge(facts, now);
}

std::string describe_spent(int64_t tokens, std::optional<double> cost_usd) {
  if (cost_usd) return fmt::format("${:.2f}", *cost_usd);
  if (tokens <= 0) return {};
  if (tokens < 1000) return fmt::format("{} tokens", tokens);
  return fmt::format("{}k tokens", (tokens + 500) / 1000);
}

json::object to_json(const Entry& entry) {
  auto out = to_json(entry.member);
  for (auto& [key, value] : to_json(entry.badge)) out[key] = value;
  out["parent"] = json_or_null(entry.parent);
  out["parent_id"] = json_or_null(entry.member.parent);
  out["doing"] = json_or_null(entry.doing);
  out["tokens"] = entry.tokens > 0 ? json::value(entry.tokens) : json::value(nullptr);
  out["cost_usd"] = json_or_null(entry.cost_usd);
  out["spent"] = json_or_null(describe_spent(entry.tokens, entry.cost_usd));
  if (entry.tokens_a_minute > 0) out["tokens_per_minute"] = entry.tokens_a_minute;
  out["facets"] = {{"run", json_or_null(entry.run)},
                   {"session", json_or_null(entry.session)},
                   {"thread", json_or_null(entry.thread)},
                   {"body", json_or_null(entry.body)}};
  return out;
}

}  // namespace cru::roster

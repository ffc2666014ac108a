#include "traces/trace_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "approvals/approval_table.h"
#include "base/text.h"
#include "base/trace_context.h"
#include "crew/chat_files.h"
#include "crew/crew_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "runs/run_span.h"
#include "runs/run_table.h"
#include "runs/runs_service.h"
#include "store/event_table.h"
#include "traces/live_trace.h"
#include "traces/work_trace.h"

namespace cru::traces {
namespace {

using crew::Chat;
using crew::Subagent;
using runs::Run;
using traces::span_of;

Failure failure_of(const crew::Failure& failure, const std::string& attempting) {
  if (failure.type.empty()) return {};
  return {failure.type, failure.message, std::string(severity(failure)), attempting};
}

Span span_of(const Chat& chat) {
  return {.id = chat.id,
          .name = chat.agent,
          .model = chat.model,
          .status = std::string(chat.turn_running ? "running" : name(chat.status)),
          .trace_id = chat.trace_id,
          .chain = {"user", chat.agent},
          .asked_at = chat.started_at,
          .began = chat.started_at,
          .ended = chat.ended_at,
          .tokens = chat.spent.usage.total(),
          .cost_usd = chat.spent.cost_usd,
          .failure = failure_of(chat.failure, {}),
          .file = crew::chat_folder(chat.id) + "/session.md"};
}

Span span_of(const Subagent& subagent) {
  return {.id = subagent.task_id,
          .parent = subagent.parent,
          .name = subagent.agent,
          .model = subagent.model,
          .status = std::string(name(subagent.status)),
          .trace_id = subagent.trace_id,
          .chain = subagent.parent_chain,
          .asked_at = subagent.spawned_at,
          .began = subagent.started_at.value_or(subagent.spawned_at),
          .ended = subagent.completed_at,
          .tokens = subagent.spent.usage.total(),
          .cost_usd = subagent.spent.cost_usd,
          .failure = failure_of(subagent.failure, subagent.attempting),
          .reflection = subagent.reflection_json(),
          .file = fmt::format("{}/{}.md", crew::chat_folder(subagent.chat_id), subagent.name())};
}

/// What people waited for, by the member that asked, or the run of it.
class Waits {
 public:
  void add(const approvals::Approval& approval) {
    bool is_open = approvals::is_open(approval.state);
    Wait wait{"approval", approval.id, std::string(is_open ? "open" : approvals::name(approval.state)),
              approval.requested_at, approval.decided_at};
    questions_with_approval_.insert(approval.request.use);
    by_member_[approval.request.member].push_back(std::move(wait));
  }
  /// Of a permission the approval tells.
  void add(const inbox::Question& question) {
    if (question.kind == inbox::Kind::permission && questions_with_approval_.contains(question.id)) return;
    bool is_open = question.status == inbox::Status::pending;
    by_member_[question.member].push_back({"question", question.id,
                                           std::string(is_open ? "open" : inbox::name(question.status)),
                                           question.asked_at, question.answered_at});
  }
  /// In the order of their beginning.
  std::vector<Wait> take(const std::string& member) {
    auto found = by_member_.extract(member);
    if (found.empty()) return {};
    std::ranges::sort(found.mapped(), {}, [](const Wait& wait) { return std::pair(wait.from, wait.id); });
    return std::move(found.mapped());
  }

 private:
  std::set<std::string> questions_with_approval_;
  std::map<std::string, std::vector<Wait>> by_member_;
};

/// What these members and the executions of them waited for since then.
Waits read_waits(Reader& reader, const std::string& chat_id, const std::vector<std::string>& members,
                 const std::vector<Run>& runs, Time since) {
  std::vector<std::string> threads;
  for (const auto& run : runs) threads.push_back(run.uid);
  Waits waits;
  // What the hook of a program or its MCP client asked for has no chat and no run, but its member.
  auto askers = chat_id.empty() ? members : std::vector<std::string>();
  for (const auto& approval : approvals::list_outcomes(reader, chat_id, threads, askers)) waits.add(approval);
  for (const auto& question : inbox::asked_by_any(reader, members, since)) waits.add(question);
  return waits;
}

/// What the threads of a chat waited for the usage limits of their providers. One that was stopped meanwhile
/// waited until something else happened in it.
void add_limits(Reader& reader, std::vector<Span>& spans, const std::set<std::string>& parked) {
  std::map<std::string, Span*> by_thread;
  std::vector<std::string> threads;
  for (auto& span : spans) {
    by_thread.emplace(span.id, &span);
    threads.push_back(span.id);
  }
  std::map<std::string, std::pair<Wait*, std::optional<Time>>> open;  ///< and what happened next
  for (const auto& note : crew::limit_notes_of(reader, threads)) {
    if (auto before = open.extract(note.thread); !before.empty()) {
      before.mapped().first->to = note.at;
      before.mapped().first->outcome = "over";
    }
    if (note.is_over) continue;
    auto& waits = by_thread.at(note.thread)->waits;
    waits.push_back({"limit", note.provider, "open", note.at, {}});
    open[note.thread] = {&waits.back(), note.next_at};
  }
  for (auto& [thread, wait] : open) {
    if (parked.contains(thread)) continue;
    wait.first->to = wait.second ? wait.second : by_thread.at(thread)->ended.value_or(wait.first->from);
    wait.first->outcome = "stopped";
  }
  for (auto& span : spans)
    std::ranges::sort(span.waits, {}, [](const Wait& wait) { return std::pair(wait.from, wait.id); });
}

/// Whether an event tells that its run waits for its provider's usage limit.
bool tells_limit(const Event& event) {
  auto data = parse_json(event.data);
  return data && data->is_object() && text_or(data->get_object(), "waits_for").starts_with("usage limit of ");
}

/// What runs that are nobody's mind waited for their providers' usage limits, as their events tell. One that
/// ended meanwhile was stopped.
void add_limits_of_runs(Reader& reader, std::vector<Span>& spans, const std::vector<Run>& runs) {
  constexpr size_t most_events = 256;
  int pages_left = 64;  // of many runs with much output: what is told of the first is enough
  for (const auto& run : runs) {
    if (!run.has_stdin || run.pty || !runs::can_be_interrupted(run.backend)) continue;
    auto span = std::ranges::find_if(
        spans, [&](const Span& one) { return one.kind == "run" && one.id == run.task_id; });
    if (span == spans.end()) continue;
    EventFilter filter{.entity = run.task_id, .types = {"agent.waiting"}};
    Wait* open = nullptr;
    auto end = [&](Time at, std::string_view outcome) {
      if (!open) return;
      open->to = at;
      open->outcome = outcome;
      open = nullptr;
    };
    bool is_over = false;
    for (auto cursor = find_cursor(reader, run.created_at, run.task_id); !is_over && pages_left-- > 0;) {
      auto page = read_events(reader, cursor, filter, most_events);
      for (const auto& event : page.events) {
        if (run.ended_at && event.at > *run.ended_at) break;
        bool is_limit = tells_limit(event);
        if (!is_limit) end(event.at, "over");
        // Another daemon says it again.
        if (!is_limit || open) continue;
        span->waits.push_back({"limit", run.backend, "open", event.at, {}});
        open = &span->waits.back();
      }
      is_over = page.scanned <= cursor || !page.more;
      cursor = page.scanned;
    }
    if (run.ended_at) end(*run.ended_at, "stopped");
    std::ranges::sort(span->waits, {}, [](const Wait& wait) { return std::pair(wait.from, wait.id); });
  }
}

/// When the last of it ended.
Time end_of(const Trace& trace, std::optional<Time> own) {
  auto end = own.value_or(trace.began);
  for (const auto& span : trace.spans)
    if (span.ended) end = std::max(end, *span.ended);
  return end;
}

/// The runs that agents of these spans have begun: each below the agent whose trace it goes on with.
void add_runs(std::vector<Span>& spans, std::vector<Run> runs) {
  std::map<std::string, const Span*> by_trace;
  for (const auto& span : spans) by_trace.emplace(span.trace_id, &span);
  std::vector<Span> more;
  for (const auto& run : runs) {
    auto span = span_of(run);
    if (auto parent = by_trace.find(run.trace_id); parent != by_trace.end()) {
      span.parent = parent->second->id;
      span.chain = parent->second->chain;
      span.chain.push_back(span.name);
    }
    more.push_back(std::move(span));
  }
  std::ranges::move(more, std::back_inserter(spans));
}

/// In the order in which they were asked for; the first `fixed` stay where they are, and so do those that
/// were asked for at the same time.
void sort_spans(std::vector<Span>& spans, size_t fixed) {
  std::vector<std::pair<Time, size_t>> order;
  for (size_t at = 0; at < spans.size(); ++at)
    order.emplace_back(at < fixed ? Time::min() : spans[at].asked_at, at);
  std::ranges::sort(order);
  std::vector<Span> sorted;
  sorted.reserve(spans.size());
  for (const auto& [when, at] : order) sorted.push_back(std::move(spans[at]));
  spans = std::move(sorted);
}

Trace trace_of(Reader& reader, const Chat& chat) {
  Trace trace{.id = chat.id,
              .trace_id = chat.trace_id,
              .title = chat.title,
              .began = chat.started_at,
              .has_root = chat.kind != crew::Kind::run};
  if (trace.has_root) trace.spans.push_back(span_of(chat));
  std::vector<std::string> members{members::kept_member_id(chat.id)}, trace_ids;
  // A trace that it shares with whoever began it has runs that are not its own.
  if (chat.caller.empty()) trace_ids.push_back(chat.trace_id);
  bool is_at_work = chat.turn_running;
  std::set<std::string> parked;
  if (chat.parked) parked.insert(chat.id);
  for (const auto& subagent : crew::outlines_of(reader, {chat.id})) {
    trace.spans.push_back(span_of(subagent));
    members.push_back(members::kept_member_id(subagent.task_id));
    trace_ids.push_back(subagent.trace_id);
    is_at_work = is_at_work || !crew::is_over(subagent.status);
    if (subagent.parked) parked.insert(subagent.task_id);
  }
  auto mind_ids = crew::runs_of_chat(reader, chat.id);
  auto minds = runs::find_all(reader, mind_ids);
  auto waits = read_waits(reader, chat.id, members, minds, chat.started_at);
  for (size_t at = 0; at < trace.spans.size(); ++at)
    trace.spans[at].waits = waits.take(members::kept_member_id(trace.spans[at].id));
  std::set<std::string> is_mind(mind_ids.begin(), mind_ids.end());
  auto others = runs::list_of_traces(reader, trace_ids, chat.started_at);
  std::erase_if(others, [&](const Run& run) { return is_mind.contains(run.task_id); });
  add_runs(trace.spans, std::move(others));
  sort_spans(trace.spans, trace.has_root ? 1 : 0);
  trace.status = is_at_work ? "running" : std::string(name(chat.status));
  // A chat that nobody has ended yet has lasted as long as something happened in it.
  auto last = chat.ended_at || is_at_work ? std::nullopt : crew::last_entry_of(reader, chat.id);
  if (last)
    trace.ended = end_of(trace, last->at);
  else if (chat.ended_at || !is_at_work)
    trace.ended = end_of(trace, chat.ended_at);
  if (trace.has_root) trace.spans.front().ended = trace.ended;
  add_limits(reader, trace.spans, parked);
  return trace;
}

/// What belongs to the same tree as `id`: others of its trace were begun by the same caller, and not by it.
void keep_tree_of(std::vector<Span>& spans, const std::string& id) {
  std::map<std::string, std::string> root_of;
  for (const auto& span : spans) {
    auto above = root_of.find(span.parent);
    root_of.emplace(span.id, above == root_of.end() ? span.id : above->second);
  }
  auto root = root_of.find(id);
  if (root == root_of.end()) return;
  std::erase_if(spans, [&](const Span& span) { return root_of.at(span.id) != root->second; });
}

/// A run, those that it began, and the agents that it had spawned as a client.
Trace trace_of(Reader& reader, const Run& asked) {
  Trace trace{.id = asked.task_id, .kind = "run", .trace_id = asked.trace_id};
  auto runs = runs::list_of_traces(reader, {asked.trace_id}, Time());
  // A task id that was started again, or a record from before there were traces.
  if (std::ranges::find(runs, asked.uid, &Run::uid) == runs.end()) runs.insert(runs.begin(), asked);
  std::map<std::string, std::string> run_of_member;
  std::vector<std::string> members, owners;
  for (const auto& run : runs) {
    run_of_member[run.member] = run.task_id;
    members.push_back(run.member);
    owners.push_back(run.task_id);
  }
  auto parents = members::parents_of(reader, members);
  for (const auto& run : runs) {
    auto span = span_of(run);
    auto parent = parents.find(run.member);
    auto above = parent == parents.end() ? run_of_member.end() : run_of_member.find(parent->second);
    if (above != run_of_member.end() && above->second != run.task_id) span.parent = above->second;
    trace.spans.push_back(std::move(span));
  }
  std::map<std::string, std::string> owner_of;
  std::vector<std::string> chats;
  for (const auto& chat : crew::list_client_chats(reader, owners)) {
    owner_of[chat.id] = chat.owner;
    chats.push_back(chat.id);
  }
  for (const auto& subagent : crew::outlines_of(reader, chats)) {
    auto span = span_of(subagent);
    if (auto owner = owner_of.find(subagent.parent); owner != owner_of.end()) span.parent = owner->second;
    members.push_back(members::kept_member_id(subagent.task_id));
    trace.spans.push_back(std::move(span));
  }
  trace.began = trace.spans.front().asked_at;
  auto waits = read_waits(reader, {}, members, runs, trace.began);
  for (const auto& run : runs) {
    auto span = std::ranges::find(trace.spans, run.task_id, &Span::id);
    if (span != trace.spans.end() && span->waits.empty()) span->waits = waits.take(run.member);
  }
  for (auto& span : trace.spans)
    if (span.kind == "agent") span.waits = waits.take(members::kept_member_id(span.id));
  add_limits_of_runs(reader, trace.spans, runs);
  sort_spans(trace.spans, 0);
  keep_tree_of(trace.spans, asked.task_id);
  trace.began = trace.spans.front().asked_at;
  trace.title = asked.task.empty() ? trace.spans.front().name : std::string(first_line(asked.task));
  bool is_open = std::ranges::any_of(trace.spans, [](const Span& span) { return !span.ended; });
  if (!is_open) trace.ended = end_of(trace, trace.spans.front().ended);
  trace.status = is_open ? "running" : std::string(name(asked.status));
  return trace;
}

Trace trace_of(Reader& reader, const coordination::Work& work) {
  auto trace = read_work_trace(reader, work);
  std::vector<std::string> verifying;
  for (const auto& span : trace.spans)
    if (span.kind == "run") verifying.push_back(span.id);
  auto runs = runs::find_all(reader, verifying);
  for (auto& span : trace.spans) {
    auto run = std::ranges::find(runs, span.id, &Run::task_id);
    if (span.kind != "run" || run == runs.end()) continue;
    auto parent = span.parent;
    auto chain = span.chain;
    span = span_of(*run);
    span.parent = parent;
    span.chain = chain;
  }
  return trace;
}

}  // namespace

Span span_of(const Run& run) {
  auto program = run.argv.empty() ? run.backend : run.argv.front().substr(run.argv.front().rfind('/') + 1);
  bool is_agent = run.backend != "command" && !runs::is_confined(run);
  Span span{.id = run.task_id,
            .kind = "run",
            .name = is_agent ? run.backend : program,
            .status = std::string(name(run.status)),
            .trace_id = run.trace_id,
            .asked_at = run.created_at,
            .began = run.started_at.value_or(run.created_at),
            .ended = run.ended_at,
            .tokens = run.report.tokens.value_or(0),
            .cost_usd = run.report.cost_usd,
            .file = run.output_file};
  span.chain = {"user", span.name};
  if (runs::is_out_of_budget(run)) span.failure = {run.error, run.error_detail, "error", {}};
  if (run.status == runs::Status::failed)
    span.failure = {"run_failed",
                    run.error_detail.empty() || run.error_detail == run.error
                        ? run.error
                        : fmt::format("{}: {}", run.error, run.error_detail),
                    "error",
                    {}};
  return span;
}

namespace {

/// Where the trace id follows from the thing, and no column has it: those at hand are tried.
std::optional<Trace> find_by_derived_trace(Reader& reader, const std::string& trace_id) {
  constexpr int64_t most = 1000;
  for (const auto& kept : auto_mode::conversations(reader, most))
    if (auto_mode::trace_id_of(kept.state) == trace_id) return read_conversation_trace(reader, kept.state);
  for (auto& row : autonomy::living_agents(reader))
    if (autonomy::trace_id_of(*row.nature) == trace_id) return read_life_trace(reader, {std::move(row), {}});
  for (const auto& work : coordination::list_work(reader, "", "", most))
    if (coordination::trace_id_of(work) == trace_id) return trace_of(reader, work);
  return {};
}

/// What has exactly this id.
std::optional<Trace> find_exact(Reader& reader, const std::string& id) {
  auto chat_trace = [&](const std::string& chat_id) -> std::optional<Trace> {
    if (auto chat = crew::find_chat(reader, chat_id)) return trace_of(reader, *chat);
    return {};
  };
  if (auto subagent = crew::find_subagent(reader, id))
    if (auto trace = chat_trace(subagent->chat_id)) return trace;
  if (auto trace = chat_trace(id)) return trace;
  if (auto owner = crew::owner_of_run(reader, id))
    if (auto trace = chat_trace(owner->chat_id)) return trace;
  if (auto run = runs::find(reader, id)) return trace_of(reader, *run);
  if (auto work = coordination::find_work(reader, id)) return trace_of(reader, *work);
  if (auto kept = auto_mode::find_conversation(reader, id))
    return read_conversation_trace(reader, kept->state);
  if (auto agent = autonomy::find_lived(reader, id)) return read_life_trace(reader, *agent);
  if (!is_trace_id(id)) return {};
  if (auto trace = chat_trace(crew::chat_of_trace(reader, id))) return trace;
  if (auto run = runs::find_of_trace(reader, id)) return trace_of(reader, *run);
  return find_by_derived_trace(reader, id);
}

/// The one chat, else the one run, work item or conversation, whose id begins so; none: empty. Runs that are
/// minds are not meant: they have the id of their agent before their own.
Result<std::string> complete_id(Reader& reader, const std::string& prefix) {
  auto chat = crew::find_chat_by_prefix(reader, prefix);
  if (chat) return chat->id;
  if (chat.error().code != Code::not_found) return fail(std::move(chat.error()));
  constexpr int64_t most = 100;
  auto ids = runs::ids_beginning(reader, prefix, most);
  std::erase_if(ids, [&](const std::string& id) { return crew::owner_of_run(reader, id).has_value(); });
  for (auto more : {coordination::work_ids_beginning(reader, prefix, most),
                    auto_mode::ids_beginning(reader, prefix, most)})
    ids.insert(ids.end(), more.begin(), more.end());
  if (ids.empty()) return std::string();
  if (ids.size() == 1) return ids.front();
  return fail(
      Code::conflict,
      fmt::format("\"{}\" matches several: {}, {}{}", prefix, ids[0], ids[1], ids.size() > 2 ? ", …" : ""),
      "id", "type more characters of the id");
}

}  // namespace

Result<Trace> find_trace(Reader& reader, const std::string& id) {
  if (auto trace = find_exact(reader, id)) return *std::move(trace);
  auto whole = complete_id(reader, id);
  if (!whole) return fail(std::move(whole.error()));
  if (!whole->empty())
    if (auto trace = find_exact(reader, *whole)) return *std::move(trace);
  return fail(Code::not_found,
              fmt::format("no chat, agent, run, work item or conversation has the id \"{}\"", id), "id",
              "see: cru sessions list, cru ps, cru work list, cru auto list");
}

}  // namespace cru::traces

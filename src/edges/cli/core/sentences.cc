#include "edges/cli/core/sentences.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/text.h"
#include "edges/cli/core/asking.h"

namespace cru::cli {
namespace {

/// A field of the reply, in one line.
std::string said(const json::object& reply, std::string_view field) {
  return safe_for_terminal(text_or(reply, field));
}

bool has(const json::object& reply, std::string_view field) {
  const auto* value = reply.if_contains(field);
  return value && !value->is_null();
}

/// A time or another value as tables show it.
std::string shown(const json::object& reply, std::string_view field, const Style& style) {
  const auto* value = reply.if_contains(field);
  return value ? cell(field, *value, style) : "-";
}

/// "1 lock", "2 locks".
std::string how_many(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// Lines of a name and a value below a sentence; what has no value is left out.
class Details {
 public:
  explicit Details(const Style& style) : style_(style) {}
  void add(std::string name, std::string value) {
    if (!value.empty()) rows_.emplace_back(std::move(name), std::move(value));
  }
  std::string text() const {
    size_t width = 0;
    for (const auto& [name, value] : rows_) width = std::max(width, display_width(name));
    std::string out;
    for (const auto& [name, value] : rows_)
      out += fmt::format("  {}  {}\n", style_.paint(fmt::format("{:<{}}", name, width), Colour::dim), value);
    return out;
  }

 private:
  const Style& style_;
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string lock_taken(const json::object& reply, const Style& style) {
  auto what = text_or(reply, "action") == "refreshed" ? "renewed the lock on" : "locked";
  auto out = fmt::format("{} {}", what, said(reply, "file_path"));
  if (has(reply, "expires_at")) out += fmt::format("; expires {}", shown(reply, "expires_at", style));
  if (has(reply, "fencing_token")) out += fmt::format("; fencing token {}", int_or(reply, "fencing_token"));
  return out + "\n";
}

std::string lock_released(const json::object& reply, const Style&) {
  return fmt::format("released {}\n", said(reply, "file_path"));
}

std::string work_submitted(const json::object& reply, const Style&) {
  return fmt::format("submitted work item {}\n", said(reply, "task_id"));
}

std::string work_claimed(const json::object& reply, const Style& style) {
  if (const auto* items = array_at(reply, "items")) {
    std::string out;
    for (const auto& item : *items)
      if (const auto* object = item.if_object()) out += work_claimed(*object, style);
    return out;
  }
  auto id = said(reply, "task_id");
  Details details(style);
  details.add("id", id);
  if (has(reply, "input_data")) details.add("input", shown(reply, "input_data", style));
  if (has(reply, "deadline")) details.add("deadline", shown(reply, "deadline", style));
  if (has(reply, "lease_expires_at")) details.add("lease expires", shown(reply, "lease_expires_at", style));
  if (has(reply, "fencing_token"))
    details.add("fencing token", std::to_string(int_or(reply, "fencing_token")));
  details.add("when done", fmt::format("cru work complete {}", id));
  return fmt::format("claimed {}: {}\n{}", said(reply, "task_type"), said(reply, "description"),
                     details.text());
}

std::string work_completed(const json::object& reply, const Style& style) {
  auto out = fmt::format("work item {} is {}", said(reply, "task_id"), said(reply, "status"));
  if (has(reply, "retry_at")) out += fmt::format("; it is tried again {}", shown(reply, "retry_at", style));
  return out + "\n";
}

std::string work_cancelled(const json::object& reply, const Style&) {
  return fmt::format("cancelled work item {}\n", said(reply, "task_id"));
}

std::string work_page(const json::object& work, const Style& style) {
  Details details(style);
  details.add("id", said(work, "task_id"));
  details.add("priority", shown(work, "priority", style));
  if (has(work, "claimed_by")) details.add("claimed by", said(work, "claimed_by"));
  details.add("attempts", fmt::format("{} of {}", int_or(work, "attempts"), int_or(work, "max_attempts")));
  for (auto [field, name] : {std::pair("depends_on", "depends on"), std::pair("blocked_by", "waits for")})
    if (const auto* ids = array_at(work, field); ids && !ids->empty())
      details.add(name, shown(work, field, style));
  if (const auto* verify = array_at(work, "verify"); verify && !verify->empty())
    details.add("verified by", safe_for_terminal(command_of({{"argv", *verify}})));
  for (auto [field, name] :
       {std::pair("input_data", "input"), std::pair("result", "result"), std::pair("evidence", "evidence"),
        std::pair("error_message", "error"), std::pair("deadline", "deadline"),
        std::pair("retry_at", "tried again"), std::pair("submitted_by", "submitted by"),
        std::pair("created_at", "submitted"), std::pair("completed_at", "ended")})
    if (has(work, field)) details.add(name, shown(work, field, style));
  auto status = said(work, "status");
  return fmt::format("{}: {} ({})\n{}", said(work, "task_type"), said(work, "description"),
                     style.paint(status, status_colour(status)), details.text());
}

std::string handoff_written(const json::object& reply, const Style&) {
  return fmt::format("wrote handoff {}\n", said(reply, "handoff_id"));
}

std::string remembered(const json::object& reply, const Style&) {
  bool known = text_or(reply, "action") == "deduplicated";
  return fmt::format("{} as {}\n", known ? "already remembered" : "remembered", said(reply, "memory_id"));
}

std::string cleaned_up(const json::object& reply, const Style&) {
  return fmt::format("cleaned up {}: released {}, returned {} to the queue\n",
                     how_many(int_or(reply, "agents_cleaned"), "agent"),
                     how_many(int_or(reply, "locks_released"), "lock"),
                     how_many(int_or(reply, "work_requeued"), "work item"));
}

/// Several answers are lines of one.
std::string answer_in_short(const json::object& reply) {
  std::string text(text_or(reply, "response"));
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.replace(at, 1, " / ");
  return safe_for_terminal(text);
}

std::string answered(const json::object& reply, const Style&) {
  return fmt::format("answered {} with \"{}\": {}\n", said(reply, "task_id"), answer_in_short(reply),
                     said(reply, "message"));
}

std::string question_page(const json::object& question, const Style& style) {
  auto out = fmt::format("{} asks: {}", said(question, "task_id"), asked_text(question));
  Details details(style);
  auto status = said(question, "status");
  details.add("status", style.paint(status, status_colour(status)));
  details.add("asked", shown(question, "asked_at", style));
  if (has(question, "response")) details.add("answer", answer_in_short(question));
  if (has(question, "delivery_error")) details.add("not delivered", said(question, "delivery_error"));
  if (has(question, "withdrawn_because")) details.add("withdrawn", said(question, "withdrawn_because"));
  if (status == "pending")
    details.add("to answer", fmt::format("cru questions answer {}", said(question, "id")));
  return out + details.text();
}

std::string team_changed(const json::object& reply, const Style&) {
  std::string out;
  const auto* agents = array_at(reply, "agents");
  for (const auto& each : agents ? *agents : json::array()) {
    if (!each.is_object()) continue;
    const auto& agent = each.get_object();
    auto status = text_or(agent, "status");
    auto name = said(agent, "name");
    if (status == "up")
      out += fmt::format("{} is already running", name);
    else if (status == "down")
      out += fmt::format("{} was not running", name);
    else if (status == "failed")
      out += fmt::format("{} failed: {}", name, said(agent, "error"));
    else if (status == "waiting")
      out += fmt::format("{} waits: {}", name, said(agent, "message"));
    else
      out += fmt::format("{} {}", status, name);
    if (auto run = said(agent, "task_id"); !run.empty() && status != "failed")
      out += fmt::format(" (run {})", run);
    out += "\n";
  }
  return out;
}

std::string run_removed(const json::object& reply, const Style&) {
  return fmt::format("removed {}\n", said(reply, "task_id"));
}

std::string place_revoked(const json::object& reply, const Style&) {
  return fmt::format("revoked the key of {} ({})\n", said(reply, "label"), said(reply, "id"));
}

std::string agent_terminated(const json::object& reply, const Style&) {
  return fmt::format("terminated {}\n", said(reply, "agent_id"));
}

std::string agent_moved(const json::object& reply, const Style&) {
  return fmt::format("{} {}\n", said(reply, "agent_id"),
                     bool_or(reply, "held") ? "moves once it is idle" : "is on its way");
}

std::string task_changed(const json::object& reply, const Style&) {
  auto status = text_or(reply, "status");
  if (status == "assigned" || status == "in_progress")
    return fmt::format("assigned task {} to {}: {}\n", said(reply, "task_id"), said(reply, "agent_id"),
                       said(reply, "task_name"));
  return fmt::format("task {} of {} is {}\n", said(reply, "task_id"), said(reply, "agent_id"), status);
}

std::string live_page(const json::object& agent, const Style& style) {
  auto state = said(agent, "state");
  Details details(style);
  details.add("role", said(agent, "role"));
  details.add("task", said(agent, "current_task"));
  if (has(agent, "position")) details.add("place", shown(agent, "position", style));
  details.add("mind", said(agent, "mind"));
  details.add("definition", said(agent, "definition"));
  details.add("last said", said(agent, "last_message"));
  details.add("error", said(agent, "error"));
  details.add("warning", said(agent, "warning"));
  details.add("messages", fmt::format("cru live conversation {}", said(agent, "agent_id")));
  return fmt::format("{} ({}) is {}\n{}", said(agent, "name"), said(agent, "agent_id"),
                     style.paint(state, status_colour(state)), details.text());
}

std::string message_page(const json::object& message, const Style& style) {
  Details details(style);
  const auto* receipts = array_at(message, "receipts");
  for (const auto& each : receipts ? *receipts : json::array())
    if (each.is_object()) details.add(said(each.get_object(), "agent_id"), said(each.get_object(), "status"));
  return fmt::format("{} said: {}\n{}", said(message, "sender"), said(message, "content"), details.text());
}

std::string notes_indexed(const json::object& state, const Style&) {
  auto out = fmt::format("{} indexed, searchable by {}", how_many(int_or(state, "notes"), "note"),
                         text_or(state, "method") == "hybrid" ? "words and meaning" : "words");
  if (bool_or(state, "is_indexing")) out += fmt::format("; {} still to read", int_or(state, "waiting"));
  return out + "\n";
}

std::string place_of(const json::object& run) {
  auto folder = said(run, "worktree");
  return has(run, "branch") ? fmt::format("{} (branch {})", folder, said(run, "branch")) : folder;
}

/// "exited with code 2 (…)"; empty where nothing is to be said.
std::string why_of(const json::object& run) {
  auto why = said(run, "error");
  if (why.empty() && int_or(run, "signal") > 0) why = fmt::format("signal {}", int_or(run, "signal"));
  if (auto detail = said(run, "error_detail"); !detail.empty())
    why = why.empty() ? detail : fmt::format("{} ({})", why, detail);
  return why;
}

/// "54074 tokens, $0.27"; empty where nothing is known.
std::string spent_by(const json::object& run) {
  auto spent = said(run, "spent");
  if (!has(run, "tokens")) return spent;
  auto tokens = how_many(int_or(run, "tokens"), "token");
  return spent.starts_with('$') ? fmt::format("{}, {}", tokens, spent) : tokens;
}

/// "is running", "has failed", "was killed".
std::string_view verb_for(std::string_view status) {
  if (status == "killed") return "was";
  return status == "completed" || status == "failed" ? "has" : "is";
}

/// Told by the page itself, or only of use to programs.
bool is_on_page(std::string_view field) {
  return is_one_of(field, {"task_id",      "status",         "argv",           "command",
                           "backend",      "task",           "worktree",       "branch",
                           "pid",          "exit_code",      "signal",         "error",
                           "error_detail", "left_behind",    "output_file",    "line_count",
                           "last_seq",     "created_at",     "started_at",     "ended_at",
                           "pty",          "kill_requested", "trace_id",       "pending_questions",
                           "badge",        "badge_since",    "badge_evidence", "member",
                           "waits_for",    "tokens",         "cost_usd",       "spent"});
}

std::string budget_page(const json::object& budget, const Style& style) {
  auto scope = said(budget, "scope");
  auto limits = said(budget, "budget");
  bool is_damaged = bool_or(budget, "damaged");
  auto out = fmt::format("{}: {}", scope,
                         is_damaged       ? style.paint("its budget cannot be read", Colour::red)
                         : limits.empty() ? "no budget"
                                          : fmt::format("{} used", said(budget, "used")));
  Details details(style);
  if (!is_damaged) details.add("budget", limits);
  auto seconds = budget.if_contains("seconds");
  auto time = seconds && seconds->is_number() ? seconds->to_number<double>() : 0;
  details.add("spent", fmt::format("{}, {} {}, {}", said(budget, "spent"), int_or(budget, "turns"),
                                   int_or(budget, "turns") == 1 ? "reply" : "replies",
                                   format_duration(Duration(static_cast<int64_t>(time * 1000)))));
  if (auto aside = int_or(budget, "reserved_tokens"); aside > 0)
    details.add("set aside", how_many(aside, "token"));
  if (!limits.empty() && !is_damaged)
    details.add("then",
                said(budget, "when") == "stop" ? "the work stops" : "the work waits, and you are asked");
  auto source = said(budget, "source");
  if (source == "person") details.add("set by", "you");
  if (source == "flag") details.add("set by", "--budget");
  if (source == "definition") details.add("set by", "the definition of its agent");
  if (source == "agent") details.add("set by", "the agent that started it");
  if (source == "configuration") details.add("set by", "the configuration");
  if (bool_or(budget, "closed"))
    details.add("stopped",
                fmt::format("you are not asked again; to continue: cru budget set {} --add LIMITS", scope));
  if (is_damaged)
    details.add("to continue",
                fmt::format("cru budget set {0} LIMITS, or: cru budget set {0} --clear", scope));
  return out + "\n" + details.text();
}

using Sentence = std::string (*)(const json::object&, const Style&);
constexpr std::array<std::pair<std::string_view, Sentence>, 25> sentences = {{
    {"show_budget", budget_page},
    {"set_budget", budget_page},
    {"acquire_lock", lock_taken},
    {"release_lock", lock_released},
    {"submit_work", work_submitted},
    {"get_work", work_claimed},
    {"complete_work", work_completed},
    {"cancel_work", work_cancelled},
    {"get_work_item", work_page},
    {"write_handoff", handoff_written},
    {"remember", remembered},
    {"cleanup_dead_agents", cleaned_up},
    {"answer_question", answered},
    {"get_question", question_page},
    {"team_up", team_changed},
    {"team_down", team_changed},
    {"remove_run", run_removed},
    {"revoke_pairing", place_revoked},
    {"terminate_live_agent", agent_terminated},
    {"move_live_agent", agent_moved},
    {"assign_live_task", task_changed},
    {"complete_live_task", task_changed},
    {"get_live_agent", live_page},
    {"get_live_message", message_page},
    {"notes_state", notes_indexed},
}};

}  // namespace

namespace {

/// Why the keeper writes nothing of it; else it waits for a budget or a usage limit.
bool is_about_disk(std::string_view waits_for) {
  return waits_for.contains("disk") || waits_for.contains("output file");
}

}  // namespace

std::string run_page(const json::object& run, const Style& style) {
  auto status = said(run, "status");
  auto out = fmt::format("{} {} {}", said(run, "task_id"), verb_for(status),
                         style.paint(status, status_colour(status)));
  if (auto why = why_of(run); !why.empty()) out += ": " + why;
  out += "\n";
  Details details(style);
  details.add("command", safe_for_terminal(command_of(run)));
  details.add("folder", place_of(run));
  if (has(run, "badge")) {
    auto badge = said(run, "badge");
    details.add("badge", style.paint(badge, status_colour(badge)));
  }
  if (has(run, "waits_for"))
    details.add("waits",
                fmt::format("{}{}: cru kill {}", said(run, "waits_for"),
                            is_about_disk(said(run, "waits_for")) ? ": free some space, or" : "; to end it",
                            said(run, "task_id")));
  if (has(run, "pid")) details.add("process", std::to_string(int_or(run, "pid")));
  if (has(run, "exit_code")) details.add("exit code", std::to_string(int_or(run, "exit_code")));
  for (auto [field, name] : {std::pair("started_at", "started"), std::pair("ended_at", "ended")})
    if (has(run, field)) details.add(name, shown(run, field, style));
  details.add("output", fmt::format("{}: cru logs {}", how_many(int_or(run, "last_seq"), "line"),
                                    said(run, "task_id")));
  details.add("spent", spent_by(run));
  if (auto pending = int_or(run, "pending_questions"); pending > 0)
    details.add("needs you", fmt::format("{}: cru questions", how_many(pending, "question")));
  for (const auto& [key, value] : run)
    if (!value.is_null() && !is_on_page(key)) details.add(std::string(key), cell(key, value, style));
  return out + details.text();
}

std::string sentence_of(std::string_view operation, const json::object& reply, const Style& style) {
  if (operation == "get_run") return run_page(reply, style);
  for (auto [name, sentence] : sentences)
    if (name == operation) return sentence(reply, style);
  return {};
}

}  // namespace cru::cli

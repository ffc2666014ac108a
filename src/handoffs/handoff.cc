#include "handoffs/handoff.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::coordination {
namespace {

constexpr size_t max_bytes = 256u << 10;
constexpr size_t max_list_bytes = 32u << 10;  ///< of one list of a final handoff
constexpr size_t max_item_columns = 200;      ///< of a final handoff
/// What tells the daemon's words from those of the agent that they follow.
constexpr std::string_view recorded_mark = " (recorded by cru)";

/// Short enough in columns and, whatever takes no column, in bytes.
std::string cut(std::string_view text) {
  return truncate(cut_with_ellipsis(text, 4 * max_item_columns), max_item_columns);
}

size_t bytes_of(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const auto& text : texts) bytes += text.size();
  return bytes;
}

bool is_made_up(std::string_view agent_id) {
  for (std::string_view prefix : {"agent-", "claude-", "codex-"}) {
    if (!agent_id.starts_with(prefix) || agent_id.size() != prefix.size() + 8) continue;
    return std::ranges::all_of(agent_id.substr(prefix.size()),
                               [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  }
  return false;
}

std::string duration_in_words(Duration duration) {
  auto minutes = std::chrono::duration_cast<std::chrono::minutes>(duration).count();
  if (minutes < 1) return "less than a minute";
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string count_of(size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string work_in_words(size_t completed, size_t open) {
  auto pieces = [](size_t count) { return count_of(count, "work item", "work items"); };
  auto is = open == 1 ? "is" : "are";
  if (completed == 0) return open == 0 ? "" : fmt::format("{} {} open", pieces(open), is);
  auto text = "completed " + pieces(completed);
  return open == 0 ? text : fmt::format("{}, {} {} open", text, open, is);
}

std::vector<std::string> fit(const std::vector<std::string>& texts, std::string_view before = "") {
  std::vector<std::string> fitted;
  size_t bytes = 0;
  for (const auto& text : texts) {
    auto item = cut(fmt::format("{}{}", before, text));
    bytes += item.size();
    if (fitted.size() == 200 || bytes > max_list_bytes) {
      fitted.push_back(fmt::format("and {} more", texts.size() - fitted.size()));
      break;
    }
    fitted.push_back(std::move(item));
  }
  return fitted;
}

/// "ended normally", "ended: logout", "ended: no heartbeat for 16m".
std::string end_in_words(std::string_view why) {
  constexpr std::string_view itself = "it ended";
  if (!why.starts_with(itself)) return "ended: " + cut(why);
  auto how = why.substr(itself.size());
  return how.empty() ? "ended normally" : "ended" + cut(how);
}

/// The rest of a sentence that begins with "worked".
std::string facts_in_words(const SessionFacts& facts) {
  auto text = duration_in_words(facts.ended_at - facts.started_at);
  if (!facts.current_task.empty()) text += " on " + cut(facts.current_task);
  if (auto work = work_in_words(facts.completed.size(), facts.open.size()); !work.empty())
    text += "; " + work;
  text += "; touched " + (facts.files.empty() ? "no files" : count_of(facts.files.size(), "file", "files"));
  if (!facts.locks.empty())
    text += (facts.keeps_locks ? "; still holds " : "; released ") +
            count_of(facts.locks.size(), "lock", "locks");
  if (!facts.why.empty()) text += "; " + end_in_words(facts.why);
  return text + ".";
}

/// `own` as it is, and then what `recorded` has besides.
std::vector<std::string> behind(std::vector<std::string> own, const std::vector<std::string>& recorded,
                                std::string_view mark) {
  auto count = own.size();
  for (const auto& item : recorded)
    if (std::find(own.begin(), own.begin() + static_cast<ptrdiff_t>(count), item) ==
        own.begin() + static_cast<ptrdiff_t>(count))
      own.push_back(item + std::string(mark));
  return own;
}

}  // namespace

json::object to_json(const Handoff& handoff) {
  return {{"id", handoff.id},
          {"agent_name", handoff.agent_name},
          {"written_by", handoff.written_by.empty() ? handoff.agent_name : handoff.written_by},
          {"session_id", handoff.session_id},
          {"member", json_or_null(handoff.member)},
          {"summary", handoff.summary},
          {"completed_work", json::value_from(handoff.completed_work)},
          {"in_progress", json::value_from(handoff.in_progress)},
          {"decisions", json::value_from(handoff.decisions)},
          {"next_steps", json::value_from(handoff.next_steps)},
          {"relevant_files", json::value_from(handoff.relevant_files)},
          {"kind", handoff.is_final ? "final" : "written"},
          {"empty", handoff.is_empty},
          {"carries", json_or_null(handoff.carries)},
          {"changeset_id", json_or_null(handoff.changeset_id)},
          {"created_at", to_rfc3339(handoff.created_at)}};
}

std::string handoff_name(std::string_view agent_id, std::string_view agent_type) {
  return std::string(is_made_up(agent_id) && !agent_type.empty() ? agent_type : agent_id);
}

bool has_summary(const Handoff& handoff) { return !trim(handoff.summary, " \t\r\n\v\f").empty(); }

Result<> check_size(const Handoff& handoff) {
  std::pair<std::string_view, size_t> fields[] = {{"summary", handoff.summary.size()},
                                                  {"completed_work", bytes_of(handoff.completed_work)},
                                                  {"in_progress", bytes_of(handoff.in_progress)},
                                                  {"decisions", bytes_of(handoff.decisions)},
                                                  {"next_steps", bytes_of(handoff.next_steps)},
                                                  {"relevant_files", bytes_of(handoff.relevant_files)}};
  size_t total = 0;
  auto largest = fields[0];
  for (const auto& field : fields) {
    total += field.second;
    if (field.second > largest.second) largest = field;
  }
  if (total <= max_bytes) return {};
  return fail(Code::too_large,
              fmt::format("a handoff is limited to {} bytes; this one has {}, {} of them in {}", max_bytes,
                          total, largest.second, largest.first),
              std::string(largest.first), "put details in files and list them in relevant_files");
}

Handoff final_handoff(const SessionFacts& facts, const std::optional<Handoff>& own, std::string id) {
  Handoff handoff{.id = std::move(id),
                  .agent_name = facts.agent_name,
                  .session_id = facts.session_id,
                  .written_by = facts.agent_id,
                  .summary = "Worked " + facts_in_words(facts),
                  .completed_work = fit(facts.completed),
                  .in_progress = fit(facts.open),
                  .next_steps = fit(facts.open, "Finish: "),
                  .relevant_files = fit(facts.files),
                  .is_final = true,
                  .is_empty = facts.files.empty() && facts.locks.empty() && facts.completed.empty() &&
                              facts.open.empty() && !own,
                  .changeset_id = facts.changeset_id,
                  .created_at = facts.ended_at};
  if (!facts.current_task.empty()) handoff.next_steps.push_back("Continue: " + cut(facts.current_task));
  if (!own) return handoff;
  handoff.carries = own->id;
  handoff.summary = own->summary + "\n\nRecorded by cru: worked " + facts_in_words(facts);
  handoff.completed_work = behind(own->completed_work, handoff.completed_work, recorded_mark);
  handoff.in_progress = behind(own->in_progress, handoff.in_progress, recorded_mark);
  handoff.decisions = own->decisions;
  handoff.next_steps = own->next_steps;  // it knew better than to say "Finish"
  handoff.relevant_files = behind(own->relevant_files, handoff.relevant_files, "");
  return handoff;
}

std::vector<std::string> not_yet_told(std::vector<std::string> completed,
                                      const std::vector<std::string>& told) {
  std::erase_if(completed, [&](const std::string& line) {
    auto item = cut(line);
    return std::ranges::any_of(told, [&](std::string_view known) {
      if (known.ends_with(recorded_mark)) known.remove_suffix(recorded_mark.size());
      return known == item;
    });
  });
  return completed;
}

}  // namespace cru::coordination

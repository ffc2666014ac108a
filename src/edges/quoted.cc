#include "edges/quoted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace cru::edges {

std::string note(std::string_view text, size_t max_bytes) {
  std::string out;
  auto safe = safe_for_terminal(text);
  for (size_t i = 0; i < safe.size(); ++i) {
    bool begins_tag = safe[i] == '<' && i + 1 < safe.size() &&
                      (safe[i + 1] == '/' || std::isalpha(static_cast<unsigned char>(safe[i + 1])));
    out += begins_tag ? std::string("‹") : std::string(1, safe[i]);
  }
  return cut_with_ellipsis(out, max_bytes);
}

namespace {

void add_list(std::string& out, const json::object& handoff, std::string_view key, std::string_view title) {
  const auto* list = array_at(handoff, key);
  if (!list || list->empty()) return;
  out += fmt::format("> {}:\n", title);
  size_t shown = 0;
  for (const auto& item : *list) {
    if (!item.is_string()) continue;
    if (++shown > 20) {
      out += fmt::format("> - and {} more\n", list->size() - 20);
      break;
    }
    out += fmt::format("> - {}\n", note(item.get_string(), 500));
  }
}

}  // namespace

std::string quoted_handoff(const json::object& handoff) {
  std::string out;
  std::string_view summary = text_or(handoff, "summary");
  size_t lines = 0;
  while (!summary.empty() && lines++ < 40) {
    auto end = std::min(summary.find('\n'), summary.size());
    out += fmt::format("> {}\n", note(summary.substr(0, end), 1000));
    summary.remove_prefix(std::min(end + 1, summary.size()));
  }
  add_list(out, handoff, "completed_work", "Done");
  add_list(out, handoff, "in_progress", "In progress");
  add_list(out, handoff, "decisions", "Decided");
  add_list(out, handoff, "next_steps", "Next");
  add_list(out, handoff, "relevant_files", "Files");
  return out;
}

}  // namespace cru::edges

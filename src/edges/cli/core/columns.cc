#include "edges/cli/core/columns.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace cru::cli {
namespace {

constexpr size_t gap = 2;

/// Fields that are left out, the first one first.
constexpr std::array<std::string_view, 28> gives_way = {
    "pid",        "last_seq", "bytes",        "line",      "score",   "base",      "head",
    "file_count", "position", "attempts",     "parent",    "waiters", "locked_at", "agent_type",
    "mind",       "kind",     "exit_code",    "subagents", "agent",   "response",  "permissions",
    "event_type", "tags",     "capabilities", "task_type", "role",    "model",     "priority"};

bool is_text(std::string_view field) {
  return is_one_of(field,
                   {"prompt",      "question", "options",      "response",     "command",     "doing",
                    "description", "reason",   "title",        "summary",      "content",     "excerpt",
                    "heading",     "what",     "task",         "outcome",      "task_name",   "current_task",
                    "result",      "files",    "tags",         "capabilities", "permissions", "value",
                    "source",      "detail",   "matched_text", "message",      "budget",      "covers"});
}

/// What a person types or recognises: cut only where it is very long.
bool is_name(std::string_view field) {
  return field == "path" || field == "name" || field == "scope" || field == "parent" || field == "sender" ||
         field == "asker" || field.ends_with("id") || field.ends_with("_by") || field.ends_with("_path") ||
         field == "agent_name";
}

/// No narrower than this.
size_t least(std::string_view field, size_t natural, size_t text, size_t name) {
  if (is_text(field)) return std::min(natural, text);
  return is_name(field) ? std::min(natural, name) : natural;
}

bool says_nothing(const Cells& cells, size_t column) {
  return cells.size() > 1 &&
         std::all_of(cells.begin() + 1, cells.end(), [&](const auto& line) { return line[column] == "-"; });
}

struct Fitting {
  std::span<const std::string_view> fields;
  std::vector<size_t> natural;
  std::vector<bool> is_shown;
  size_t width;

  bool fits(size_t text, size_t name) const {
    size_t need = 0;
    for (size_t i = 0; i < fields.size(); ++i)
      if (is_shown[i]) need += (need ? gap : 0) + least(fields[i], natural[i], text, name);
    return need <= width;
  }
  void leave_out(std::string_view field) {
    for (size_t i = 1; i < fields.size(); ++i)  // the first says what the row is about
      if (fields[i] == field) is_shown[i] = false;
  }
  /// Gives what is left to the columns that want more: first to what a row is about, then evenly.
  std::vector<size_t> share(size_t text, size_t name) const {
    std::vector<size_t> out(fields.size());
    size_t used = 0;
    for (size_t i = 0; i < fields.size(); ++i)
      if (is_shown[i]) used += (used ? gap : 0) + (out[i] = least(fields[i], natural[i], text, name));
    for (size_t i = 0; i < fields.size() && used < width; ++i)
      if (is_shown[i] && fields[i] == "title") {
        auto more = std::min(natural[i] - out[i], width - used);
        out[i] += more;
        used += more;
      }
    for (bool grew = true; grew && used < width;) {
      grew = false;
      for (size_t i = 0; i < fields.size() && used < width; ++i)
        if (is_shown[i] && out[i] < natural[i]) {
          ++out[i];
          ++used;
          grew = true;
        }
    }
    return out;
  }
};

bool is_made_up(std::string_view id) {
  auto rest = id.starts_with("q-") ? id.substr(2) : id;
  return (id.size() == 36 || id.size() == 18) &&
         rest.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

/// "2026-11-18-auto-zoo-0000aa": what tells them apart is at the end, and that is enough to type.
bool is_of_conversation(std::string_view id) {
  constexpr size_t day = 10, digits = 6;
  if (id.size() <= day + 1 + digits || !id.substr(day).starts_with("-auto-")) return false;
  auto end = id.substr(id.size() - digits - 1);
  return end.starts_with('-') &&
         end.substr(1).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The ends of the ids in a column, if they are as many as the ids.
void keep_ends(const std::set<std::string>& whole, Cells& cells, size_t column) {
  auto end_of = [](const std::string& id) { return id.substr(id.rfind('-') + 1); };
  std::set<std::string> ends;
  for (const auto& id : whole) ends.insert(end_of(id));
  if (ends.size() < whole.size()) return;
  for (size_t n = 1; n < cells.size(); ++n) cells[n][column] = end_of(cells[n][column]);
}

}  // namespace

std::vector<size_t> fit_columns(std::span<const std::string_view> fields, const Cells& cells, size_t width) {
  Fitting fitting{fields, std::vector<size_t>(fields.size()), std::vector<bool>(fields.size(), true), width};
  for (const auto& line : cells)
    for (size_t i = 0; i < line.size(); ++i)
      fitting.natural[i] = std::max(fitting.natural[i], display_width(line[i]));
  constexpr size_t wide = 24, narrow = 10;
  constexpr size_t long_name = 26, short_name = 16;
  for (size_t i = 1; i < fields.size() && !fitting.fits(wide, long_name); ++i)
    if (says_nothing(cells, i)) fitting.is_shown[i] = false;
  for (auto field : gives_way) {
    if (fitting.fits(wide, long_name)) break;
    fitting.leave_out(field);
  }
  if (fitting.fits(wide, long_name)) return fitting.share(wide, long_name);
  if (fitting.fits(narrow, long_name)) return fitting.share(narrow, long_name);
  fitting.leave_out("spent");  // a person asks for it: a text is cut before
  if (fitting.fits(narrow, long_name)) return fitting.share(narrow, long_name);
  if (!fitting.fits(narrow, short_name) && std::ranges::find(fields, "badge") != fields.end())
    fitting.leave_out("status");  // the badge tells it in one word
  return fitting.share(narrow, short_name);
}

void shorten_ids(std::span<const std::string_view> fields, Cells& cells) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].ends_with("id") || cells.size() < 2) continue;
    std::set<std::string> whole;
    for (size_t n = 1; n < cells.size(); ++n) whole.insert(cells[n][i]);
    if (std::ranges::all_of(whole, is_of_conversation)) keep_ends(whole, cells, i);
    if (!std::ranges::all_of(whole, is_made_up)) continue;
    size_t length = 10;
    auto prefixes = [&] {
      std::set<std::string> out;
      for (const auto& id : whole) out.insert(id.substr(0, length));
      return out.size();
    };
    while (length < 36 && prefixes() < whole.size()) ++length;
    for (size_t n = 1; n < cells.size(); ++n) cells[n][i] = cells[n][i].substr(0, length);
  }
}

}  // namespace cru::cli

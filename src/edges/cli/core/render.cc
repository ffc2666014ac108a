#include "edges/cli/core/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/plain_words.h"
#include "base/text.h"
#include "edges/cli/core/columns.h"

namespace cru::cli {
namespace {

bool is_time_field(std::string_view field) {
  return field.ends_with("_at") || field == "ts" || field == "since" || field == "timestamp" ||
         field == "last_heartbeat";
}

std::string heading(std::string_view field) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known = {{{"task_id", "RUN"},
                                                                                   {"exit_code", "EXIT"},
                                                                                   {"last_seq", "LINES"},
                                                                                   {"entity_id", "ENTITY"},
                                                                                   {"timestamp", "TIME"}}};
  for (auto [name, title] : known)
    if (name == field) return std::string(title);
  if (field.ends_with("_at")) field.remove_suffix(3);
  std::string out(field);
  for (auto& c : out) c = c == '_' ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

std::string plain_text(const json::value& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_bool()) return value.get_bool() ? "yes" : "no";
  if (value.is_array()) {
    std::string out;
    for (const auto& item : value.get_array()) out += (out.empty() ? "" : ", ") + plain_text(item);
    return out.empty() ? "-" : out;
  }
  if (const auto* place = value.if_object();
      place && place->size() == 2 && place->contains("x") && place->contains("y"))
    return fmt::format("{},{}", int_or(*place, "x"), int_or(*place, "y"));
  if (value.is_double()) return fmt::format("{:.3g}", value.get_double());  // a score, for people
  return to_text(value);
}

/// Who somebody is, however long that is: a column of them has to leave room for the others.
constexpr size_t max_name_columns = 40;
bool is_name_field(std::string_view field) {
  return is_one_of(field,
                   {"name", "parent", "agent_id", "agent_name", "written_by", "locked_by", "claimed_by"});
}

std::vector<size_t> natural_widths(const Cells& cells, size_t columns) {
  std::vector<size_t> widths(columns);
  for (const auto& line : cells)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], display_width(line[i]));
  return widths;
}

/// On a terminal as many as fit into it; 0: not shown.
std::vector<size_t> column_widths(std::span<const std::string_view> fields, Cells& cells,
                                  const Style& style) {
  auto widths = natural_widths(cells, fields.size());
  size_t all = 2 * (widths.size() - 1);
  for (size_t width : widths) all += width;
  if (!style.tty || all <= style.width) return widths;
  shorten_ids(fields, cells);
  return fit_columns(fields, cells, style.width);
}

}  // namespace

std::string padded(const std::string& text, size_t width) {
  auto have = display_width(text);
  return have < width ? text + std::string(width - have, ' ') : text;
}

std::string Style::paint(std::string_view text, Colour which) const {
  constexpr std::array<std::string_view, 7> codes = {"", "1", "2", "31", "32", "33", "36"};
  if (!colour || which == Colour::none) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<size_t>(which)], text);
}

Colour status_colour(std::string_view status) {
  if (is_one_of(status, {"running", "answered", "ok", "active", "claimed", "installed", "speaking",
                         "listening", "thinking", "using a tool"}))
    return Colour::green;
  if (status == "failed" || status == "fail") return Colour::red;
  if (status == "killed" || status == "expired" || status == "warn" || status == "cancelled" ||
      status == "disconnected" || status == "partly" || status == "needs you")
    return Colour::yellow;
  if (is_one_of(status, {"starting", "pending", "queued"})) return Colour::cyan;
  return Colour::none;
}

std::string hanging(std::string_view text, const Style& style) {
  if (!style.tty) return std::string(text);
  std::string_view mark = style.is_ascii ? "\n  | " : "\n  │ ";
  constexpr size_t mark_width = 4, min_width = 16;
  // Not the last column: some terminals break there already.
  size_t room = std::max(style.width, min_width) - 1, used = 0;
  std::string out;
  while (!text.empty()) {
    auto c = first_code_point(text);
    auto shown = text.substr(0, c.length);
    // The only escape sequences here are the colours of `paint`.
    if (c.value == 0x1b) {
      shown = text.substr(0, text.find('m') + 1);
      out += shown.empty() ? std::exchange(text, {}) : shown;
      text.remove_prefix(std::min(shown.size(), text.size()));
      continue;
    }
    text.remove_prefix(c.length);
    if (c.value == '\n') {
      out += '\n';
      used = 0;
      continue;
    }
    // What is not ASCII may be two columns wide, whatever a table says of it.
    bool is_tab = c.value == '\t';
    size_t width = is_tab ? 4 : c.value < 0x80 ? 1 : 2;
    if (used + width > room) {
      out += mark;
      used = mark_width;
    }
    out += is_tab ? std::string_view("    ") : shown;
    used += width;
  }
  return out;
}

std::string relative_time(Time time, Time now) {
  auto distance = now - time;
  bool past = distance >= Duration(0);
  auto seconds = std::abs(distance.count()) / 1000;
  if (seconds < 1) return "now";
  // What is to come is rounded: a lock that was taken for two hours has not one hour left a second later.
  auto in = [&](int64_t unit) { return (seconds + (past ? 0 : unit / 2)) / unit; };
  std::string size;
  if (seconds < 60)
    size = fmt::format("{}s", seconds);
  else if (in(60) < 60)
    size = fmt::format("{}m", in(60));
  else if (in(3600) < 48)
    size = fmt::format("{}h", in(3600));
  else
    size = fmt::format("{}d", in(86400));
  return past ? size + " ago" : "in " + size;
}

std::string command_of(const json::object& run) {
  auto backend = text_or(run, "backend", "command");
  if (backend != "command" && !text_or(run, "task").empty())
    return fmt::format("{}: {}", backend, text_or(run, "task"));
  std::string out;
  if (const auto* argv = array_at(run, "argv"))
    for (const auto& word : *argv)
      if (word.is_string()) out += (out.empty() ? "" : " ") + as_shell_word(word.get_string());
  return out;
}

std::string cell(std::string_view field, const json::value& value, const Style& style) {
  if (style.tty && is_time_field(field) && value.is_string())
    if (auto time = parse_rfc3339(value.get_string())) return relative_time(*time, style.now);
  return safe_for_terminal(plain_text(value));
}

std::string table(std::span<const std::string_view> columns, const json::array& rows, const Style& style) {
  Cells cells(1);
  // A column is a field, and behind a space its title where it is not the usual one.
  std::vector<std::string_view> fields;
  for (auto column : columns) {
    auto space = column.find(' ');
    fields.push_back(column.substr(0, space));
    cells[0].push_back(space == std::string_view::npos ? heading(column)
                                                       : std::string(column.substr(space + 1)));
  }
  for (const auto& row : rows) {
    if (!row.is_object()) continue;
    const auto& object = row.get_object();
    auto& line = cells.emplace_back();
    for (auto column : fields) {
      const auto* value = object.if_contains(column);
      if (column == "command" && (!value || object.contains("argv")))
        line.push_back(safe_for_terminal(command_of(object)));
      else
        line.push_back(value ? cell(column, *value, style) : "-");
      if (is_name_field(column)) line.back() = truncate(line.back(), max_name_columns);
    }
  }
  auto widths = column_widths(fields, cells, style);
  std::string out;
  for (size_t number = 0; number < cells.size(); ++number) {
    std::string text;
    size_t used = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] == 0) continue;
      size_t left = style.width > used ? style.width - used : 1;
      auto shown = style.tty ? truncate(cells[number][i], std::min(left, widths[i])) : cells[number][i];
      auto filled = padded(shown, widths[i]);
      bool is_status = fields[i] == "status" || fields[i] == "badge";
      auto colour = number == 0 ? Colour::bold : is_status ? status_colour(cells[number][i]) : Colour::none;
      bool is_last = std::all_of(widths.begin() + static_cast<std::ptrdiff_t>(i) + 1, widths.end(),
                                 [](size_t width) { return width == 0; });
      text += style.paint(is_last ? shown : filled, colour);
      if (!is_last) text += "  ";
      used += widths[i] + 2;
      if (style.tty && used >= style.width) break;
    }
    while (text.ends_with(' ')) text.pop_back();
    out += text + "\n";
  }
  return out;
}

std::string record(const json::object& object, const Style& style) {
  size_t width = 0;
  for (const auto& [key, value] : object) width = std::max(width, key.size());
  std::string out;
  for (const auto& [key, value] : object) {
    std::string_view name = key;
    bool repeated = name == "command" && object.contains("argv");  // the same, but quoted, is shown for argv
    if (value.is_null() || repeated) continue;
    auto shown = cell(name, value, style);
    if (name == "argv") shown = safe_for_terminal(command_of({{"argv", value}}));
    auto colour = name == "status" ? status_colour(shown) : Colour::none;
    auto label = fmt::format("{:<{}}", name, width);
    out += fmt::format("{}  {}\n", style.paint(label, Colour::dim), style.paint(shown, colour));
  }
  return out;
}

}  // namespace cru::cli

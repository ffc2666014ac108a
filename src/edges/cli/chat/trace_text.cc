#include "edges/cli/chat/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "edges/cli/chat/chat_texts.h"
#include "edges/cli/core/render.h"

namespace cru::cli {
namespace {

constexpr size_t bar_width = 16;
constexpr size_t max_critique = 160;

/// "1m08s", and whole milliseconds below a second.
std::string time_words(int64_t ms) {
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (ms < 60'000) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000);
  auto seconds = ms / 1000;
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string_view mark_of(std::string_view status) {
  if (status == "failed") return "✗";
  if (status == "cancelled" || status == "killed") return "⊘";
  if (is_one_of(status, {"running", "active", "starting", "claimed"})) return "▸";
  return status == "queued" || status == "pending" ? "·" : "✓";
}

/// Our own signs by those that every terminal has; what else is beyond ASCII by a question mark.
std::string to_ascii(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 16> signs = {{{"└", "`"},
                                                                                    {"├", "|"},
                                                                                    {"│", "|"},
                                                                                    {"─", "-"},
                                                                                    {"✓", "+"},
                                                                                    {"✗", "x"},
                                                                                    {"⊘", "-"},
                                                                                    {"▸", ">"},
                                                                                    {"·", "."},
                                                                                    {"█", "#"},
                                                                                    {"▒", "%"},
                                                                                    {"⏸", "||"},
                                                                                    {"↻", "~"},
                                                                                    {"→", "->"},
                                                                                    {"…", "..."},
                                                                                    {"—", "-"}}};
  std::string out;
  for (size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = first_code_point(text).length;
    auto sign = text.substr(0, length);
    if (const auto* known =
            std::ranges::find(signs, sign, &std::pair<std::string_view, std::string_view>::first);
        known != signs.end())
      out += known->second;
    else
      out += length > 1 || static_cast<unsigned char>(sign[0]) >= 0x80 ? "?" : sign;
  }
  return out;
}

class TraceTree {
 public:
  TraceTree(const json::object& trace, const Style& style)
      : trace_(trace), style_(style), whole_(std::max<int64_t>(int_or(trace, "duration_ms"), 1)) {
    const auto* spans = array_at(trace, "spans");
    if (!spans) return;
    for (const auto& each : *spans) {
      if (!each.is_object()) continue;
      const auto& span = each.get_object();
      children_[std::string(text_or(span, "parent"))].push_back(&span);
      name_width_ = std::max(name_width_, display_width(name_of(span)) + 3 * depth_of(span));
      model_width_ = std::max(model_width_, display_width(text_or(span, "model")));
    }
  }

  std::string text() {
    auto failed = int_or(trace_, "failed");
    out_ =
        fmt::format("trace {}  {}{}  {}  {}\n", safe_for_terminal(text_or(trace_, "trace_id")),
                    text_or(trace_, "status"), failed ? fmt::format(", {} failed", failed) : "",
                    time_words(int_or(trace_, "duration_ms")), spent_words(int_or(trace_, "tokens"), trace_));
    out_ += "user\n";
    add("", "");
    return out_;
  }

 private:
  static size_t depth_of(const json::object& span) { return static_cast<size_t>(int_or(span, "depth")); }
  static std::string name_of(const json::object& span) {
    auto order = int_or(span, "order");
    auto name = fmt::format("{}{}", order ? fmt::format("#{} ", order) : "",
                            safe_for_terminal(text_or(span, "agent")));
    // Programs have the same name as often as not: the id says which run it was.
    auto id = text_or(span, "id");
    if (text_or(span, "kind") == "run" && id != text_or(span, "agent")) name += " " + safe_for_terminal(id);
    return name;
  }

  void add(const std::string& parent, const std::string& indent) {
    const auto& spans = children_[parent];
    for (size_t at = 0; at < spans.size(); ++at) {
      bool is_last = at + 1 == spans.size();
      add_span(*spans[at], indent + (is_last ? "└─ " : "├─ "), indent + (is_last ? "   " : "│  "));
    }
  }

  void add_span(const json::object& span, const std::string& branch, const std::string& below) {
    // A chat goes on after a turn that failed.
    const auto* error = object_at(span, "error");
    bool has_failed =
        error && text_or(*error, "severity") != "warning" && text_or(span, "status") == "active";
    auto status = has_failed ? std::string_view("failed") : text_or(span, "status");
    auto colour = status == "failed" ? Colour::red : status_colour(status);
    auto used = display_width(branch);
    auto name = padded(name_of(span), name_width_ + 3 > used ? name_width_ + 3 - used : 0);
    out_ += fmt::format("{}{} {}  {}  {:>7}  {:>6}  {}\n", branch, style_.paint(mark_of(status), colour),
                        status == "failed" ? style_.paint(name, Colour::red) : name,
                        padded(safe_for_terminal(text_or(span, "model")), model_width_),
                        time_words(int_or(span, "duration_ms")), short_count(int_or(span, "tokens")),
                        style_.paint(bar_of(span, status == "failed"), colour));
    auto id = std::string(text_or(span, "id"));
    add_details(span, below + (children_.contains(id) ? "│ " : "  "));
    add(id, below);
  }

  /// Where in the chat's time the span lies.
  std::string bar_of(const json::object& span, bool has_failed) const {
    auto at = [&](int64_t ms) {
      return static_cast<size_t>(std::clamp<int64_t>(ms, 0, whole_) * static_cast<int64_t>(bar_width) /
                                 whole_);
    };
    auto offset = int_or(span, "offset_ms");
    auto from = std::min(at(offset), bar_width - 1);
    auto to = std::clamp(at(offset + int_or(span, "duration_ms")), from + 1, bar_width);
    std::string bar(from, ' ');
    for (auto i = from; i < to; ++i) bar += has_failed ? "▒" : "█";
    return bar;
  }

  /// "⏸ 1m02s waiting: approval A-12".
  void add_wait(const json::object& wait, const std::string& indent) {
    auto outcome = text_or(wait, "outcome");
    bool is_open = outcome == "open";
    auto line = fmt::format("{}⏸ {} waiting: {} {}{}", indent, time_words(int_or(wait, "duration_ms")),
                            text_or(wait, "kind") == "limit" ? "usage limit of" : text_or(wait, "kind"),
                            safe_for_terminal(text_or(wait, "id")),
                            is_open ? ", still open" : fmt::format(", {}", safe_for_terminal(outcome)));
    out_ += style_.paint(line, is_open ? Colour::yellow : Colour::dim) + "\n";
  }

  /// "attempt 1: not passed, score 0.40, 1.2k tok, 3.1s: It names no file."
  void add_iteration(const json::object& iteration, const std::string& indent) {
    const auto* score = iteration.if_contains("score");
    auto line =
        fmt::format("{}  attempt {}: {}{}, {} tok, {}", indent, int_or(iteration, "attempt"),
                    bool_or(iteration, "passed") ? "passed" : "not passed",
                    score && score->is_number() ? fmt::format(", score {:.2f}", score->to_number<double>())
                                                : std::string(),
                    short_count(int_or(iteration, "tokens")), time_words(int_or(iteration, "duration_ms")));
    if (auto critique = first_line(trim(text_or(iteration, "critique"))); !critique.empty())
      line += ": " + safe_for_terminal(truncate(critique, max_critique));
    out_ += style_.paint(line, Colour::dim) + "\n";
  }

  void add_details(const json::object& span, const std::string& indent) {
    if (auto queued = int_or(span, "queued_ms"); queued >= 1000)
      out_ +=
          style_.paint(fmt::format("{}⏸ {} waiting in the queue", indent, time_words(queued)), Colour::dim) +
          "\n";
    const auto* waits = array_at(span, "waits");
    for (const auto& each : waits ? *waits : json::array())
      if (each.is_object()) add_wait(each.get_object(), indent);
    if (const auto* reflection = object_at(span, "reflection")) {
      auto attempts = int_or(*reflection, "attempts");
      auto outcome = text_or(*reflection, "outcome");
      out_ += style_.paint(fmt::format("{}↻ {} attempt{}{}", indent, attempts, attempts == 1 ? "" : "s",
                                       outcome == "partial"  ? ", none met its criteria"
                                       : outcome == "passed" ? ", criteria met"
                                                             : ""),
                           outcome == "partial" ? Colour::yellow : Colour::dim) +
              "\n";
      const auto* iterations = array_at(*reflection, "iterations");
      for (const auto& each : iterations ? *iterations : json::array())
        if (each.is_object()) add_iteration(each.get_object(), indent);
    }
    const auto* error = object_at(span, "error");
    if (!error) return;
    auto attempting = text_or(*error, "attempting");
    const auto* chain = array_at(span, "parent_chain");
    std::vector<std::string> names;
    for (const auto& name : chain ? *chain : json::array())
      if (name.is_string()) names.push_back(safe_for_terminal(name.get_string()));
    out_ += fmt::format("{}{}\n", indent,
                        style_.paint(fmt::format("{}: {}", safe_for_terminal(text_or(*error, "type")),
                                                 safe_for_terminal(text_or(*error, "message"))),
                                     Colour::red));
    if (!attempting.empty() && names.size() > 1)
      out_ += fmt::format("{}while {} was attempting: {}\n", indent, names[names.size() - 2],
                          safe_for_terminal(attempting));
    out_ += fmt::format("{}chain {}  trace {}\n", indent, fmt::join(names, " → "),
                        safe_for_terminal(text_or(span, "trace_id")));
    out_ += style_.paint(fmt::format("{}{}", indent, safe_for_terminal(text_or(span, "file"))), Colour::dim) +
            "\n";
  }

  const json::object& trace_;
  const Style& style_;
  const int64_t whole_;
  std::map<std::string, std::vector<const json::object*>> children_;
  size_t name_width_ = 0, model_width_ = 0;
  std::string out_;
};

}  // namespace

std::string trace_text(const json::object& trace, const Style& style) {
  auto text = TraceTree(trace, style).text();
  return style.is_ascii ? to_ascii(text) : text;
}

}  // namespace cru::cli

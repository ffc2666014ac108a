#include "edges/cli/core/approval_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "edges/cli/core/asking.h"

namespace cru::cli {
namespace {

/// A longer preview folds where it is shown unasked.
constexpr size_t most_shown_at_once = 400;

std::string safe(const json::object& approval, std::string_view key) {
  return safe_for_terminal(text_or(approval, key));
}

bool has_clock(const json::object& approval) {
  const auto* left = approval.if_contains("seconds_left");
  return left && left->is_number();
}

std::string time_left_of(const json::object& approval) {
  if (!has_clock(approval)) return "it waits without a limit";
  auto seconds = approval.at("seconds_left").to_number<double>();
  auto duration = format_duration(Duration(static_cast<int64_t>(seconds * 1000)));
  if (text_or(approval, "status") != "pending")
    return fmt::format("the timeout is paused; {} left", duration);
  bool approves = text_or(approval, "on_timeout") == "approve";
  return fmt::format("{} left, then it {}", duration, approves ? "is approved" : "expires and is not done");
}

/// From the asker up: "worker, child of lead, which you started".
std::string chain_of(const json::object& approval) {
  std::string chain = asker_name(approval);
  const auto* list = array_at(approval, "parent_chain");
  for (size_t i = list ? list->size() : 0; i > 1; --i) {
    const auto& above = list->at(i - 2);
    if (!above.is_string()) continue;
    bool is_person = i == 2 && above.get_string() == "user";
    chain += is_person ? std::string(", which you started")
                       : ", child of " + safe_for_terminal(above.get_string());
  }
  return chain;
}

/// What a person should know before deciding, a line each, and the preview.
std::string details_of(const json::object& approval, const Style& style, size_t most_lines) {
  bool is_open = is_undecided(approval), reversible = bool_or(approval, "reversible");
  std::string out;
  auto line = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  line("can undo",
       fmt::format("{} ({})", style.paint(undo_in_short(approval), reversible ? Colour::green : Colour::red),
                   safe(approval, "undo_why")));
  line("impact", safe(approval, "impact"));
  line("why", safe(approval, "reason"));
  line("task", safe(approval, "task"));
  line("asked by", chain_of(approval));
  line("folder", safe(approval, "folder"));
  line("checked", text_or(approval, "checked") == "at answer"
                      ? "at the answer: the program itself carries it out"
                      : "again when it is carried out");
  line("replaces", safe(approval, "replaces"));
  if (is_open) line("you decide", safe(approval, "why_asked"));
  if (is_open) line("time", time_left_of(approval));
  out += approval_changes(approval);
  if (const auto* context = array_at(approval, "context"))
    for (const auto& item : *context)
      if (item.is_object()) {
        line("you asked", safe(item.get_object(), "question"));
        line("answer", safe(item.get_object(), "answer"));
      }
  return out + approval_preview(approval, style, most_lines);
}

}  // namespace

bool is_undecided(const json::object& approval) {
  return is_one_of(text_or(approval, "status"), {"pending", "held", "asking"});
}

std::string approval_preview(const json::object& approval, const Style& style, size_t most_lines) {
  const auto* preview = object_at(approval, "preview");
  if (!preview) return {};
  bool is_diff = text_or(*preview, "kind") == "diff";
  std::string out;
  size_t lines = 0;
  for (std::string_view rest = text_or(*preview, "text"); !rest.empty();) {
    if (lines++ == most_lines) {
      auto left = std::ranges::count(rest, '\n') + (rest.ends_with('\n') ? 0 : 1);
      return out + style.paint(fmt::format("  … {} more line{}\n", left, left == 1 ? "" : "s"), Colour::red);
    }
    auto line = rest.substr(0, rest.find('\n'));
    auto colour = !is_diff                                             ? Colour::none
                  : line.starts_with("+++") || line.starts_with("---") ? Colour::bold
                  : line.starts_with('+')                              ? Colour::green
                  : line.starts_with('-')                              ? Colour::red
                  : line.starts_with('@')                              ? Colour::cyan
                                                                       : Colour::none;
    out += fmt::format("  {}\n", style.paint(safe_for_terminal(line), colour));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  if (bool_or(*preview, "is_cut")) out += style.paint("  … there is more than can be shown\n", Colour::red);
  return out;
}

std::string approval_changes(const json::object& approval) {
  std::string out;
  auto side = [](const json::object& change, std::string_view key) {
    return safe_for_terminal(truncate(to_text(change.at(key)), 200));
  };
  if (const auto* changes = array_at(approval, "changes"))
    for (const auto& item : *changes)
      if (const auto* change = item.if_object())
        out += fmt::format("  {:<10} {}: {} → {}\n", "changed", safe(*change, "field"), side(*change, "from"),
                           side(*change, "to"));
  return out;
}

std::string outcome_in_words(const json::object& approval) {
  auto outcome = safe(approval, "outcome");
  auto status = safe(approval, "status");
  if (outcome.empty() && status == "held")
    return fmt::format("held{}. To release it: {}", has_clock(approval) ? "; its timeout is paused" : "",
                       release_command(approval));
  if (outcome.empty()) return status;
  // An agent that asked and went on to something else comes back for it.
  bool is_taken_up = text_or(approval, "status") != "approved" || !text_or(approval, "used_at").empty();
  return is_taken_up ? outcome : outcome + "; the agent has not taken it up yet";
}

std::string approval_page(const json::object& approval, const Style& style) {
  bool is_open = is_undecided(approval);
  auto out = fmt::format("{} {} wants to {}\n  {:<10} {}\n", style.paint(safe(approval, "id"), Colour::bold),
                         asker_name(approval), style.paint(safe(approval, "what"), Colour::bold), "status",
                         is_open ? safe(approval, "status") : outcome_in_words(approval));
  out += details_of(approval, style, std::string::npos);
  if (is_open) out += style.paint(ways_to_decide(approval) + other_ways(approval), Colour::dim);
  return out;
}

std::string approval_notice(const json::object& approval, const Style& style) {
  return fmt::format("{} {} needs your approval {} to {}\n{}", style.paint("⚑", Colour::yellow),
                     asker_name(approval), style.paint(safe(approval, "id"), Colour::bold),
                     style.paint(safe(approval, "what"), Colour::bold),
                     details_of(approval, style, most_shown_at_once));
}

}  // namespace cru::cli

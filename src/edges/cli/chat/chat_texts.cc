// Rules.
#include "edges/cli/chat/chat_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace cru::cli {
namespace {

constexpr std::string_view quotes = "\"\"\"";

struct Known {
  std::string_view name, summary;
};
constexpr std::array<Known, 8> slashes = {
    {{"help", "this list"},
     {"agents", "the available agents"},
     {"model", "the agent's model"},
     {"status", "tokens, cost and the queue"},
     {"files", "the paths of the chat and of the reports of its subagents"},
     {"cancel", "stop a turn that another client started (here: Ctrl-C)"},
     {"end", "end the chat and exit"},
     {"quit", "same as /end, like Ctrl-D"}}};

}  // namespace

std::optional<std::string> MessageLines::take(std::string line) {
  if (quoted_) {
    if (line == quotes || line.ends_with(quotes)) {
      line.resize(line.size() - quotes.size());
      message_ += line;
      if (line.empty() && message_.ends_with('\n')) message_.pop_back();
      return rest();
    }
    message_ += line + "\n";
    return {};
  }
  bool opens = !continued_ && line.starts_with(quotes);
  if (opens) {
    auto body = line.substr(quotes.size());
    if (body.ends_with(quotes)) return body.substr(0, body.size() - quotes.size());
    quoted_ = true;
    if (!body.empty()) message_ = body + "\n";
    return {};
  }
  continued_ = line.ends_with('\\');
  if (continued_) {
    line.back() = '\n';
    message_ += line;
    return {};
  }
  message_ += line;
  return rest();
}

std::string MessageLines::rest() {
  auto message = std::move(message_);
  clear();
  return message;
}

Slash slash_of(std::string_view message) {
  if (message.size() < 2 || message[0] != '/' || message[1] == '/') return {};
  auto word = message.substr(1, message.find_first_of(" \n") - 1);
  bool is_word =
      std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '?'; });
  if (!is_word) return {};  // a path, say
  Slash slash{.name = std::string(word), .meant = {}};
  std::vector<std::string> names;
  for (const auto& each : slashes) {
    slash.known = slash.known || each.name == word;
    names.emplace_back(each.name);
  }
  if (!slash.known) slash.meant = closest(word, names);
  return slash;
}

std::string without_slash_quote(std::string message) {
  if (message.starts_with("//")) message.erase(0, 1);
  return message;
}

std::string slash_help() {
  std::string out;
  for (const auto& each : slashes) out += fmt::format("  /{:<8} {}\n", each.name, each.summary);
  return out +
         "\n  A backslash at the end of a line continues the message; \"\"\" starts and ends a message of "
         "several lines.\n  Start a message with // to send a leading slash. Ctrl-C stops a turn; twice at "
         "the prompt, it exits.\n";
}

std::string short_count(int64_t count) {
  if (count < 1000) return std::to_string(count);
  if (count < 999'950) return fmt::format("{:.1f}k", static_cast<double>(count) / 1000);
  return fmt::format("{:.1f}M", static_cast<double>(count) / 1e6);
}

std::string spent_words(int64_t tokens, const json::object& priced) {
  auto out = short_count(tokens) + " tok";
  const auto* cost = priced.if_contains("cost_usd");
  if (cost && cost->is_number()) out += fmt::format(" ${:.2f}", cost->to_number<double>());
  return out;
}

std::string failure_line(const json::object& subagent, const Style& style) {
  auto message = text_or(subagent, "message", text_or(subagent, "error_message"));
  auto type = text_or(subagent, "error_type", "failed");
  bool cancelled = text_or(subagent, "status") == "cancelled" || type == "cancelled";
  auto severity = text_or(subagent, "severity", cancelled ? "warning" : "error");
  return fmt::format("{} {} {} ({}, {}): {}\n", style.paint("✗", Colour::red),
                     safe_for_terminal(text_or(subagent, "agent")), cancelled ? "was cancelled" : "failed",
                     safe_for_terminal(type), safe_for_terminal(severity), safe_for_terminal(message));
}

std::string end_line(const json::object& subagent, const Style& style) {
  bool well = text_or(subagent, "status") == "completed";
  auto file = text_or(subagent, "file");
  std::string out;
  if (!well) out = failure_line(subagent, style);
  return out + fmt::format("{} {} {} {}  {}\n",
                           well ? style.paint("✓", Colour::green) : style.paint("✗", Colour::red),
                           safe_for_terminal(text_or(subagent, "agent")),
                           format_duration(Duration(int_or(subagent, "duration_ms"))),
                           short_count(int_or(subagent, "tokens")) + " tok", safe_for_terminal(file));
}

std::string whole_report(const json::object& subagent) {
  constexpr std::string_view begins = "## Summary\n\n", between = "\n\n## Findings\n\n";
  auto text = std::string_view(text_or(subagent, "result"));
  // The frontmatter is in the file, and on the last line what of it people look at.
  if (text.starts_with("---\n"))
    if (auto end = text.find("\n---\n"); end != std::string_view::npos) text.remove_prefix(end + 5);
  text = trim(text);
  auto split = text.find(between);
  if (!text.starts_with(begins) || split == std::string_view::npos) return std::string(text);
  auto summary = trim(text.substr(begins.size(), split - begins.size()));
  auto findings = trim(text.substr(split + between.size()));
  bool is_cut = bool_or(subagent, "abbreviated");
  // Without headings of its own the report is both, and its beginning the summary.
  if (findings.starts_with(summary))
    return is_cut || findings.size() > summary.size() ? std::string(findings) : std::string();
  return std::string(is_cut ? text : findings);
}

}  // namespace cru::cli

#include "edges/cli/core/asking.h"

#include <fmt/format.h>

#include "base/choice.h"
#include "base/text.h"

namespace cru::cli {
namespace {

AskedPart wire_part(const json::object& object) {
  AskedPart part{.prompt = std::string(text_or(object, "prompt")),
                 .takes_several = bool_or(object, "takes_several")};
  const auto* options = array_at(object, "options");
  for (const auto& option : options ? *options : json::array())
    if (const auto* each = option.if_object()) {
      part.options.emplace_back(text_or(*each, "label"));
      part.descriptions.emplace_back(text_or(*each, "description"));
    }
  return part;
}

/// What an agent asks, made so that no line of it can be taken for one of ours.
std::string words_of_asker(std::string_view prompt) {
  std::string out;
  for (char c : safe_for_terminal(prompt, Newlines::keep)) {
    out += c;
    if (c == '\n') out += "  │ ";
  }
  return out;
}

std::string option_lines(const AskedPart& part, std::string_view indent) {
  std::string out;
  for (size_t i = 0; i < part.options.size(); ++i) {
    out += fmt::format("{}{}) {}", indent, i + 1, safe_for_terminal(part.options[i]));
    if (i < part.descriptions.size() && !part.descriptions[i].empty())
      out += fmt::format(" — {}", safe_for_terminal(part.descriptions[i]));
    out += "\n";
  }
  if (part.takes_several) out += fmt::format("{}(several, separated by commas: 1,2)\n", indent);
  return out;
}

}  // namespace

std::vector<AskedPart> parts_in(const json::object& question) {
  std::vector<AskedPart> parts;
  if (const auto* list = array_at(question, "questions"))
    for (const auto& each : *list)
      if (const auto* object = each.if_object()) parts.push_back(wire_part(*object));
  if (!parts.empty()) return parts;
  AskedPart only{.prompt = std::string(text_or(question, "prompt"))};
  if (const auto* options = array_at(question, "options"))
    for (const auto& option : *options)
      if (option.is_string()) only.options.emplace_back(option.get_string());
  return {std::move(only)};
}

std::string asked_text(const json::object& question) {
  auto parts = parts_in(question);
  if (parts.size() == 1)
    return fmt::format("{}\n{}", words_of_asker(parts[0].prompt), option_lines(parts[0], "  "));
  auto out = fmt::format("{} questions\n", parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    out += fmt::format("{}. {}\n{}", i + 1, words_of_asker(parts[i].prompt), option_lines(parts[i], "   "));
  return out;
}

std::string asked_in_short(const json::object& question) {
  auto parts = parts_in(question);
  if (parts.size() == 1) return parts[0].prompt;
  std::string out = fmt::format("{} questions:", parts.size());
  for (size_t i = 0; i < parts.size(); ++i) out += fmt::format(" {}. {}", i + 1, parts[i].prompt);
  return out;
}

std::string options_in_short(const json::object& question) {
  auto parts = parts_in(question);
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > 1) out += fmt::format("{}{}. ", i ? "; " : "", i + 1);
    for (size_t n = 0; n < parts[i].options.size(); ++n) out += (n ? ", " : "") + parts[i].options[n];
    if (parts.size() > 1 && parts[i].options.empty()) out += "any answer";
  }
  return out.empty() ? "-" : out;
}

std::string budget_text(const json::object& exhausted, const Style& style) {
  auto id = safe_for_terminal(text_or(exhausted, "question_id"));
  std::string how;
  size_t number = 0;
  if (const auto* options = array_at(exhausted, "options"))
    for (const auto& option : *options)
      if (option.is_string())
        how += fmt::format("    cru questions answer {} {}   # {}\n", id, ++number,
                           safe_for_terminal(option.get_string()));
  return fmt::format("{} waits: {}\n{}", style.paint("⏸", Colour::yellow),
                     safe_for_terminal(text_or(exhausted, "message")), style.paint(how, Colour::dim));
}

std::string asker_name(const json::object& asked) {
  return safe_for_terminal(text_or(asked, "asker", text_or(asked, "agent", text_or(asked, "task_id"))));
}

std::string asker_in_short(const json::object& asked) {
  auto parent = text_or(asked, "child_of");
  return parent.empty() ? asker_name(asked)
                        : fmt::format("{}, child of {}", asker_name(asked), safe_for_terminal(parent));
}

std::string_view undo_in_short(const json::object& approval) {
  if (bool_or(approval, "reversible")) return "yes";
  return text_or(approval, "undo") == "irreversible" ? "no" : "not known";
}

std::string ways_to_decide(const json::object& approval) {
  auto id = safe_for_terminal(text_or(approval, "id"));
  return fmt::format(
      "  to approve: cru approvals approve {0}{1}\n  to deny:    cru approvals deny {0} REASON\n", id,
      bool_or(approval, "reversible") ? "" : " --confirm " + id);
}

std::string release_command(const json::object& approval) {
  return fmt::format("cru approvals hold {} --release", safe_for_terminal(text_or(approval, "id")));
}

std::string other_ways(const json::object& approval) {
  auto id = safe_for_terminal(text_or(approval, "id"));
  // A program that waits for its permission cannot be asked.
  bool can_be_asked = !is_one_of(text_or(approval, "via"), {"hook", "question"});
  return (can_be_asked ? fmt::format("  to ask:     cru approvals ask {} QUESTION\n", id) : std::string()) +
         (text_or(approval, "status") == "held" ? "  to release: " + release_command(approval) + "\n"
                                                : fmt::format("  to hold:    cru approvals hold {}\n", id));
}

std::string approval_text(const json::object& approval, const Style& style) {
  auto id = safe_for_terminal(text_or(approval, "id"));
  auto undo = undo_in_short(approval);
  return fmt::format(
      "{} {} needs your approval {} to {}{}\n{}", style.paint("⚑", Colour::yellow), asker_name(approval),
      style.paint(id, Colour::bold), safe_for_terminal(text_or(approval, "what")),
      undo == "yes"  ? ""
      : undo == "no" ? ", which cannot be undone"
                     : "; it is not known whether that can be undone",
      style.paint(fmt::format("  to see it:  cru approvals show {}\n{}", id, ways_to_decide(approval)),
                  Colour::dim));
}

AnswerSheet::AnswerSheet(const json::object& question)
    : parts_(parts_in(question)), is_permission_(text_or(question, "kind") == "permission") {}

std::string AnswerSheet::prompt() const {
  if (!in_own_words_.empty()) return {};
  if (parts_.size() == 1) return "answer: ";
  const auto& part = parts_[answers_.size()];
  return fmt::format("{} of {}: {}\n{}answer {}: ", answers_.size() + 1, parts_.size(),
                     words_of_asker(part.prompt), option_lines(part, "  "), answers_.size() + 1);
}

std::string AnswerSheet::take(std::string_view line) {
  const auto& part = parts_[answers_.size()];
  if (!in_own_words_.empty()) {
    auto words = std::exchange(in_own_words_, {});
    auto reply = to_lower(trim(line));
    if (reply != "y" && reply != "yes") return part.options.empty() ? "" : "not sent\n";
    has_free_text_ = true;
    answers_.push_back(std::move(words));
    return {};
  }
  auto text = std::string(trim(line));
  auto chosen = part.takes_several ? choose_several(part.options, text) : choose_one(part.options, text);
  bool needs_words = text.empty() && (parts_.size() > 1 || !part.options.empty());
  if (needs_words) return part.options.empty() ? "type an answer\n" : "type the number of an option\n";
  if (chosen || part.options.empty() || (is_permission_ && text.starts_with("deny:"))) {
    answers_.push_back(chosen ? *std::move(chosen) : std::move(text));
    return {};
  }
  if (is_permission_) return "answer with allow, deny or \"deny: reason\"\n";
  in_own_words_ = text;
  return fmt::format("\"{}\" is not one of the options. Send it anyway? [y/N] ", safe_for_terminal(text));
}

json::object AnswerSheet::body() const {
  return {{"answers", json::value_from(answers_)}, {"only_options", !has_free_text_}};
}

}  // namespace cru::cli

#include "edges/cli/core/deciding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace cru::cli {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(blanks)); }
std::string_view without_first_word(std::string_view text) {
  return trim(text.substr(first_word(text).size()));
}

/// A program that waits for its permission cannot be asked about it.
bool can_be_asked(const json::object& approval) {
  return !is_one_of(text_or(approval, "via"), {"hook", "question"});
}

bool is_approval_id(std::string_view word) {
  return word.size() > 2 && (word.starts_with("A-") || word.starts_with("a-")) &&
         std::ranges::all_of(word.substr(2), [](char c) { return c >= '0' && c <= '9'; });
}

std::string cannot_be_undone(const json::object& approval, std::string_view id) {
  return fmt::format("{}: to approve it, type its id too: approve {}\n",
                     text_or(approval, "undo") == "irreversible"
                         ? "This cannot be undone"
                         : "It is not known whether this can be undone",
                     id);
}

}  // namespace

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;
  char quote = 0;
  for (char c : line) {
    if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      is_open = true;
    } else if (blanks.contains(c)) {
      if (is_open) words.push_back(std::exchange(word, {}));
      is_open = false;
    } else {
      word += c;
      is_open = true;
    }
  }
  if (is_open) words.push_back(std::move(word));
  return words;
}

std::string decisions_for(const json::object& approval) {
  auto id = safe_for_terminal(text_or(approval, "id"));
  auto approve = bool_or(approval, "reversible") ? std::string("approve") : "approve " + id;
  bool is_held = text_or(approval, "status") == "held";
  return fmt::format("{}, deny REASON, {}{}, show, later", approve,
                     can_be_asked(approval) ? "ask QUESTION, " : "", is_held ? "hold --release" : "hold");
}

TypedDecision read_decision(const json::object& approval, std::string_view line, bool needs_id) {
  std::string id(text_or(approval, "id"));
  auto rest = trim(line);
  for (std::string_view prefix : {"cru", "approvals"})
    if (first_word(rest) == prefix) rest = without_first_word(rest);
  auto verb = to_lower(first_word(rest));
  rest = without_first_word(rest);
  TypedDecision typed;
  if (verb.empty()) {
    typed.say = fmt::format("type: {}\n", decisions_for(approval));
    return typed;
  }
  if (verb == "later") {
    typed.is_later = true;
    return typed;
  }
  if (!is_one_of(verb, {"approve", "deny", "ask", "hold", "show"})) {
    typed.say = fmt::format("\"{}\" decides nothing\n  type: {}\n", truncate(safe_for_terminal(verb), 40),
                            decisions_for(approval));
    return typed;
  }
  bool is_named = to_lower(first_word(rest)) == to_lower(id);
  if (!is_named && is_approval_id(first_word(rest)) && verb != "ask" && verb != "deny") {
    typed.say = fmt::format("this is {}; another is decided with: cru approvals {} {}\n", id, verb,
                            safe_for_terminal(first_word(rest)));
    return typed;
  }
  if (is_named) rest = without_first_word(rest);
  if (verb == "ask" && rest.empty()) {
    typed.say = "type what you want to know: ask QUESTION\n";
    return typed;
  }
  auto words = split_words(rest);
  bool confirms = std::ranges::any_of(words, [](const auto& word) { return word.starts_with("--confirm"); });
  bool is_preview = std::ranges::find(words, "--preview") != words.end();
  bool reversible = bool_or(approval, "reversible");
  if (verb == "approve" && (needs_id || !reversible) && !confirms && !is_preview) {
    if (!is_named) {
      typed.say =
          reversible
              ? fmt::format("another approval has just ended; to approve this one, type: approve {}\n", id)
              : cannot_be_undone(approval, id);
      return typed;
    }
    if (!reversible) words.insert(words.end(), {"--confirm", id});
  }
  typed.verb = verb;
  typed.words = {id};
  bool is_text = verb == "ask" || (verb == "deny" && !rest.starts_with("--") && !rest.empty());
  if (is_text && words.size() == 1)
    typed.verbatim = std::move(words);  // quoted as a whole, as the command needs it
  else if (is_text)
    typed.verbatim = {std::string(rest)};
  else
    typed.words.insert(typed.words.end(), words.begin(), words.end());
  return typed;
}

}  // namespace cru::cli

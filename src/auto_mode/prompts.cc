#include "auto_mode/prompts.h"

#include <fmt/format.h>

#include <algorithm>

#include "autonomy/decision.h"

namespace cru::auto_mode {
namespace {

constexpr size_t max_remembered = 12;         // lines
constexpr size_t max_remembered_bytes = 600;  // of each

/// The last line of an agent; the end if there is none.
size_t last_of_agent(const std::vector<Line>& lines) {
  for (size_t i = lines.size(); i > 0; --i)
    if (!lines[i - 1].agent_id.empty()) return i - 1;
  return lines.size();
}

}  // namespace

std::string system_instruction(std::string_view keyword) {
  return fmt::format(
      "You are taking part in a conversation between several agents. Explore the topic deeply instead of "
      "agreeing quickly. Ask follow-up questions and answer those that you are asked. Debate constructively: "
      "take up the strongest form of what was said, give reasons and examples, and change your mind where "
      "you are convinced. Write two to five sentences, as one would speak, without headings or lists. Only "
      "when the topic is genuinely exhausted, and everybody has had a say, end your message with the keyword "
      "{}. Do not mention the keyword otherwise.",
      keyword);
}

std::string system_prompt(const AutoModeState& state) {
  const auto& self = state.cast[state.responder];
  auto out = fmt::format("You are {}, the {}. {}\n\n{}\n\nThe topic: {}\n", self.name, self.role,
                         self.character, system_instruction(state.keyword), state.prompt);
  if (self.mind != scripted_mind)
    out += "\nInstead of the keyword you may use the tool end_conversation, if you have it.\n";
  out += "\nWith you are:";
  for (const auto& other : state.cast)
    if (other.agent_id != self.agent_id) out += fmt::format(" {} ({}).", other.name, other.role);
  auto last = std::min(last_of_agent(state.recent), state.recent.size());
  auto first = last > max_remembered ? last - max_remembered : 0;
  if (first < last) out += "\n\nWhat was said before, oldest first:";
  for (auto i = first; i < last; ++i)
    out += fmt::format("\n{}: {}", state.recent[i].name,
                       autonomy::cut_words(state.recent[i].text, max_remembered_bytes));
  return out;
}

std::string user_prompt(const AutoModeState& state) {
  auto last = last_of_agent(state.recent);
  auto out = last < state.recent.size()
                 ? state.recent[last].text
                 : fmt::format("{}\n\n{}", system_instruction(state.keyword), state.prompt);
  for (const auto& line : state.recent)
    if (line.agent_id.empty() && line.number > state.fresh_from)
      out += fmt::format("\n\n{}, a person who listens, says: {}", line.name, line.text);
  return out;
}

}  // namespace cru::auto_mode

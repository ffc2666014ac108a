#pragma once
/// A conversation without anybody around it: what its tests share.
#include <gtest/gtest.h>

#include "auto_mode/conversation.h"

namespace cru::auto_mode {

inline AutoModeState conversation_of(size_t agents) {
  AutoModeState state;
  state.id = "talk";
  state.topic = "bees";
  state.prompt = "Should everybody keep bees?";
  state.keyword = "[CONVERSATION_END]";
  state.limit = 5min;
  for (size_t i = 0; i < agents; ++i) {
    const auto& persona = personas()[i];
    CastMember member;
    member.agent_id = "agent_00" + std::to_string(i + 1);
    member.name = persona.name;
    member.role = persona.role;
    member.mind = "scripted";
    state.cast.push_back(std::move(member));
  }
  return state;
}

template <class E>
const E* first(const std::vector<Effect>& effects) {
  for (const auto& effect : effects)
    if (const auto* found = std::get_if<E>(&effect)) return found;
  return nullptr;
}
template <class E>
size_t count(const std::vector<Effect>& effects) {
  size_t number = 0;
  for (const auto& effect : effects) number += std::holds_alternative<E>(effect);
  return number;
}

class ConversationTest : public testing::Test {
 protected:
  std::vector<Effect> tell(Input input) { return step(state_, input, {now_, boot_}); }
  std::vector<Effect> reply(std::string text, bool has_keyword = false) {
    return tell(Replied{state_.turn, std::move(text), has_keyword, 10});
  }
  const std::string& responder() const { return state_.cast[state_.responder].agent_id; }
  /// A whole turn.
  std::vector<Effect> turn(std::string text) {
    tell(Arrived{responder()});
    reply(std::move(text));
    return tell(HasSpoken{responder()});
  }
  AutoModeState state_ = conversation_of(2);
  Time now_ = from_millis(1'800'000'000'000);
  BootTime boot_{1h};
};

inline EndCondition condition(std::string_view text) { return *condition_from(*parse_json(text)); }

}  // namespace cru::auto_mode

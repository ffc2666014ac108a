#pragma once
/// Topics: open questions that two or more can hold opinions about, each with what can be said for and
/// against it, so that the scripted mind has something to say. Rules only.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cru::auto_mode {

struct Topic {
  std::string_view name;
  std::string_view prompt;  ///< how the conversation is opened
  std::array<std::string_view, 3> claims, objections;
  std::array<std::string_view, 2> questions;
  std::string_view middle;  ///< what both sides can agree on
};
std::span<const Topic> topics();
/// By its name or its whole prompt; null if it is nobody's but the caller's.
const Topic* find_topic(std::string_view text);
/// One of them, as chance has it.
const Topic& draw_topic(uint64_t chance);

}  // namespace cru::auto_mode

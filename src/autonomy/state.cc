#include "autonomy/state.h"

#include <array>

namespace cru::autonomy {
namespace {

constexpr std::array<std::string_view, 4> names{"idle", "listening", "thinking", "speaking"};
constexpr unsigned bit(State state) { return 1u << static_cast<unsigned>(state); }
/// By the state it leaves: the states it may go to.
constexpr std::array<unsigned, 4> ways{
    bit(State::listening) | bit(State::thinking), bit(State::thinking) | bit(State::idle),
    bit(State::speaking) | bit(State::listening) | bit(State::idle), bit(State::idle)};

}  // namespace

std::string_view name(State state) { return names[static_cast<size_t>(state)]; }

std::optional<State> state_from(std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<State>(i);
  return {};
}

bool is_legal(State from, State to) { return ways[static_cast<size_t>(from)] & bit(to); }

}  // namespace cru::autonomy

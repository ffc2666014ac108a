#pragma once
/// The states of a live agent and the ways between them. Rules only.
#include <cstdint>
#include <optional>
#include <string_view>

namespace cru::autonomy {

enum class State : uint8_t { idle, listening, thinking, speaking };
std::string_view name(State state);  ///< lowercase, as on the wire
std::optional<State> state_from(std::string_view name);

/// idle→listening, listening→thinking, thinking→speaking, speaking→idle; idle→thinking (nobody spoke for a
/// while); thinking→listening (interrupted); listening→idle, thinking→idle (a time limit, or nothing to say).
bool is_legal(State from, State to);

}  // namespace cru::autonomy

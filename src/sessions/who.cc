#include "sessions/who.h"

#include "base/id.h"

namespace cru::coordination {
namespace {

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

}  // namespace

bool is_agent_id(std::string_view text) {
  if (text.empty() || text.size() > 128) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:@-").find(c) != std::string_view::npos;
  });
}

std::string session_id_from(std::string_view agent_id, std::string_view text) {
  if (is_uuid(text)) return std::string(text);
  // The agent is part of it: two agents that both call their session "1" are two.
  std::string name = std::string(agent_id) + '\n' + std::string(text);
  std::array<uint8_t, 16> bytes{};
  for (size_t half = 0; half < 2; ++half) {
    auto digest = fnv1a_hex((half ? "b" : "a") + name);
    for (size_t i = 0; i < 8; ++i)
      bytes[half * 8 + i] = static_cast<uint8_t>(std::stoi(digest.substr(i * 2, 2), nullptr, 16));
  }
  return uuid_from(bytes);
}

}  // namespace cru::coordination

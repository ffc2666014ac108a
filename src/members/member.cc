#include "members/member.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/id.h"
#include "base/plain_words.h"
#include "base/text.h"

namespace cru::members {
namespace {

constexpr std::array<std::string_view, 7> kind_names = {"person",  "claude", "codex", "gemini",
                                                        "command", "model",  "script"};

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

std::string_view name(Kind kind) { return kind_names[static_cast<size_t>(kind)]; }

Kind kind_from(std::string_view text) {
  auto found = std::ranges::find(kind_names, text);
  return found == kind_names.end() ? Kind::script : static_cast<Kind>(found - kind_names.begin());
}

std::optional<Kind> vendor_of(std::string_view text) {
  auto lower = to_lower(text);
  for (auto kind : {Kind::claude, Kind::codex, Kind::gemini})
    if (lower.find(name(kind)) != std::string::npos) return kind;
  return {};
}

Kind kind_of_mind(std::string_view text) {
  if (auto vendor = vendor_of(text)) return *vendor;
  if (text == "scripted") return Kind::script;
  return text == name(Kind::command) ? Kind::command : Kind::model;
}

std::string_view agent_type(Kind kind) { return kind == Kind::claude ? "claude_code" : name(kind); }

std::string member_id_from(const std::array<uint8_t, 16>& random) {
  return "m-" + hex(std::string_view(reinterpret_cast<const char*>(random.data()), 6));
}

std::string kept_member_id(std::string_view id) { return fmt::format("m-{}", id); }
std::string kept_id(const Member& member) {
  return member.kept_by == KeptBy::itself ? std::string() : member.id.substr(2);
}

std::string session_id_from(std::string_view agent_id, std::string_view text) {
  if (is_uuid(text)) return std::string(text);
  // The agent is part of it: two agents that both call their session "1" are two.
  std::string joined = std::string(agent_id) + '\n' + std::string(text);
  std::array<uint8_t, 16> bytes{};
  for (size_t half = 0; half < 2; ++half) {
    auto digest = fnv1a_hex((half ? "b" : "a") + joined);
    for (size_t i = 0; i < 8; ++i)
      bytes[half * 8 + i] = static_cast<uint8_t>(std::stoi(digest.substr(i * 2, 2), nullptr, 16));
  }
  return uuid_from(bytes);
}

json::object to_json(const Member& member) {
  return {{"id", member.id},
          {"name", member.name},
          {"kind", name(member.kind)},
          {"agent_id", member.agent_id},
          {"agent_type", member.agent_type},
          {"parent", json_or_null(member.parent)},
          {"definition", json_or_null(member.definition)},
          {"session_id", json_or_null(member.session_id)},
          {"pid", member.host ? json::value(member.host->pid) : json::value(nullptr)},
          {"program", json_or_null(member.program)},
          {"doing", json_or_null(member.doing)},
          {"started_at", to_rfc3339(member.started_at)},
          {"ended_at", member.ended_at ? json::value(to_rfc3339(*member.ended_at)) : json::value(nullptr)},
          {"end_reason", json_or_null(member.end_reason)},
          {"left_behind", json_or_null(member.left_behind)}};
}

}  // namespace cru::members

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
constexpr size_t max_stem_bytes = 24;

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

const Candidate* find_by_session(const std::vector<Candidate>& here, std::string_view session) {
  auto found = std::ranges::find_if(here, [&](const Candidate& one) { return one.has_session(session); });
  return found == here.end() ? nullptr : &*found;
}

template <class Test>
const Candidate* find_only(const std::vector<Candidate>& here, Test test) {
  const Candidate* only = nullptr;
  for (const auto& one : here) {
    if (!test(one)) continue;
    if (only) return nullptr;
    only = &one;
  }
  return only;
}

/// Whose conversation a session that nobody here has belongs to; nullptr if that cannot be told.
const Candidate* find_heir(const Evidence& evidence, const std::vector<Candidate>& here) {
  // Whoever changed its id waits for the next one, so it comes before those that never had any.
  auto waits = [](const Candidate& one) { return !one.sessions.empty() && !one.has_open_session(); };
  if (const auto* one = find_only(here, waits)) return one;
  if (const auto* one = find_only(here, [](const Candidate& any) { return any.sessions.empty(); }))
    return one;
  // After /clear the host has one session less, even if its end was never heard of.
  if (evidence.step == SessionStep::begins_anew && here.size() == 1) return &here.front();
  return nullptr;
}

Verdict identify_session(const Evidence& evidence, const std::vector<Candidate>& here,
                         const std::optional<Candidate>& elsewhere) {
  using What = Verdict::What;
  if (const auto* one = find_by_session(here, evidence.session)) return {What::known, one->id};
  bool is_server = !evidence.connection.empty();
  bool is_others = elsewhere && is_live_elsewhere(evidence, *elsewhere);
  // What Claude Code tells its servers is not to be relied on, and an id may be inherited from a session
  // further up, which is not the server's own.
  if (is_server && (is_others || (evidence.run.empty() && has_one_conversation(evidence.program)))) {
    auto own = evidence;
    own.session.clear();
    auto verdict = identify(own, here, std::nullopt);
    verdict.takes_session = false;
    return verdict;
  }
  if (const auto* one = find_heir(evidence, here)) return {What::joins, one->id};
  if (elsewhere && !is_others) {
    // One that has ended is told so until it begins again.
    if (elsewhere->is_ended && !evidence.begins()) return {What::known, elsewhere->id};
    return {What::moves, elsewhere->id};
  }
  return {};
}

/// "my-client 1.2" is called "my-client".
std::string_view without_version(std::string_view client) {
  auto space = client.rfind(' ');
  if (space == std::string_view::npos || space + 1 == client.size()) return client;
  char first = client[client[space + 1] == 'v' && space + 2 < client.size() ? space + 2 : space + 1];
  return first >= '0' && first <= '9' ? client.substr(0, space) : client;
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

std::string scope_of(const Evidence& evidence) {
  if (!evidence.run.empty()) return "run:" + evidence.run;
  if (!evidence.host) return {};
  return fmt::format("process:{}:{}:{}", evidence.host->boot_id, evidence.host->pid,
                     evidence.host->start_time);
}

std::string session_id_of(const Evidence& evidence) {
  if (evidence.session.empty() && evidence.agent_id.empty())
    return session_id_from("connection", evidence.connection);
  return session_id_from(evidence.agent_id,
                         evidence.session.empty() ? evidence.connection : evidence.session);
}

bool Candidate::has_session(std::string_view session) const {
  return std::ranges::any_of(sessions, [&](const Session& one) { return one.id == session; });
}

bool Candidate::has_open_session() const {
  return std::ranges::any_of(sessions, [](const Session& one) { return one.is_open; });
}

bool is_live_elsewhere(const Evidence& evidence, const Candidate& holder) {
  if (holder.is_ended || holder.scope == scope_of(evidence)) return false;
  return !holder.scope.empty() || !holder.connections.empty();
}

std::string apart_session_id(const Evidence& evidence) {
  return session_id_from("apart " + evidence.agent_id, "claims " + evidence.session);
}

bool has_one_conversation(std::string_view program) { return program == "claude" || program == "gemini"; }

Verdict identify(const Evidence& evidence, const std::vector<Candidate>& here,
                 const std::optional<Candidate>& elsewhere) {
  using What = Verdict::What;
  if (scope_of(evidence).empty()) {
    if (!elsewhere) return {};
    // A conversation that goes on under a program which nobody knows. What was a run's stays the run's.
    bool was_hosted = elsewhere->is_ended && elsewhere->scope.starts_with("process:");
    return {was_hosted && evidence.begins() ? What::moves : What::known, elsewhere->id};
  }
  bool is_only = evidence.run.empty() && has_one_conversation(evidence.program);
  if (!evidence.connection.empty()) {
    auto has_it = [&](const Candidate& one) {
      return std::ranges::find(one.connections, evidence.connection) != one.connections.end();
    };
    if (auto one = std::ranges::find_if(here, has_it); one != here.end())
      return {.what = What::known, .member = one->id, .takes_session = !is_only};
  }
  if (here.size() == 1 && is_only)
    return {.what = What::joins, .member = here.front().id, .takes_session = evidence.connection.empty()};
  if (!evidence.session.empty()) {
    auto verdict = identify_session(evidence, here, elsewhere);
    // A connection that names its session is its member's from now on, whatever the id becomes.
    if (verdict.what == What::known && !evidence.connection.empty()) verdict.what = What::joins;
    return verdict;
  }
  if (evidence.connection.empty())
    return here.size() == 1 ? Verdict{What::known, here.front().id} : Verdict{};
  if (here.size() == 1) return {What::joins, here.front().id};
  if (const auto* one = find_only(here, [](const Candidate& any) { return any.connections.empty(); }))
    return {What::joins, one->id};
  return {.is_unattributed = !here.empty()};
}

Kind kind_of(const Evidence& evidence) {
  if (evidence.is_person) return Kind::person;
  for (const auto* text : {&evidence.program, &evidence.agent_type, &evidence.client})
    if (auto vendor = vendor_of(*text)) return *vendor;
  return Kind::script;
}

std::string agent_type_of(const Evidence& evidence) {
  if (!evidence.agent_type.empty()) return evidence.agent_type;
  auto kind = kind_of(evidence);
  if (kind != Kind::script) return std::string(agent_type(kind));
  return evidence.connection.empty() ? std::string(agent_type(kind)) : "mcp_client";
}

std::string name_stem(const Evidence& evidence) {
  auto kind = kind_of(evidence);
  if (kind != Kind::script && kind != Kind::person) return std::string(name(kind));
  std::string stem;
  for (char c : to_lower(without_accents(without_version(evidence.client)))) {
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!is_plain && (stem.empty() || stem.back() == '-')) continue;
    if (stem.size() == max_stem_bytes) break;
    stem += is_plain ? c : '-';
  }
  while (stem.ends_with('-')) stem.pop_back();
  return stem.empty() ? "agent" : stem;
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

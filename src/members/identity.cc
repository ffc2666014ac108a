#include "members/identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/plain_words.h"
#include "base/text.h"

namespace cru::members {
namespace {

constexpr size_t max_stem_bytes = 24;

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
  // Whoever says its name but not its type is taken for what the tools were first made for.
  return evidence.agent_id.empty() ? "mcp_client" : "claude_code";
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

Judged judge(Evidence evidence, const Acquaintances& known) {
  // The daemon itself speaks for an agent that thinks here, and knows whose call it is.
  if (evidence.run.empty() && known.run_member)
    return {evidence, {.what = Verdict::What::known, .member = known.run_member->id}};
  auto here = known.here;
  // A mind's run is the run of the agent that thinks.
  bool is_owned = known.run_member && !known.run_member->is_ended;
  if (is_owned && std::ranges::find(here, known.run_member->id, &Candidate::id) == here.end())
    here.push_back(*known.run_member);
  if (here.size() > 1 && evidence.session.empty() && evidence.connection.empty()) {
    evidence.host.reset();
    evidence.run.clear();
  }
  auto scope = scope_of(evidence);
  if (!scope.empty()) {
    auto elsewhere = evidence.session.empty() ? std::nullopt : known.holder_of(evidence.session, scope);
    auto verdict = identify(evidence, here, elsewhere);
    return {std::move(evidence), std::move(verdict)};
  }
  auto holder = known.holder_of(session_id_of(evidence), scope);
  bool is_named = !evidence.session.empty() && !evidence.is_person;
  if (is_named && (!holder || holder->is_ended))
    if (auto other = known.holder_of(evidence.session, scope)) holder = std::move(other);
  if (holder && is_live_elsewhere(evidence, *holder)) {
    bool is_brief = evidence.process && evidence.connection.empty();
    if (is_brief && holder->scope.starts_with("process:"))
      return {std::move(evidence), {.what = Verdict::What::refused, .member = holder->id}};
    evidence.session = apart_session_id(evidence);
    holder = known.holder_of(evidence.session, scope);
  }
  auto verdict = identify(evidence, here, holder);
  return {std::move(evidence), std::move(verdict)};
}

Member new_member(const Evidence& evidence, const Verdict& verdict, const std::string& id) {
  Member member{.id = id,
                .name = evidence.agent_id,
                .kind = kind_of(evidence),
                .scope = scope_of(evidence),
                .host = evidence.run.empty() ? evidence.host : std::nullopt,
                .program = evidence.program,
                .agent_id = evidence.agent_id,
                .agent_type = agent_type_of(evidence),
                .is_unattributed = verdict.is_unattributed};
  bool is_outside = member.scope.empty();
  if (verdict.takes_session && (is_outside || !evidence.session.empty()))
    member.session_id = session_id_of(evidence);
  // Without an agent program above it, a connection lives as long as its own process.
  if (is_outside && !evidence.connection.empty()) member.host = evidence.process;
  return member;
}

Member updated(Member member, const Evidence& evidence, const Verdict& verdict, bool is_first) {
  if (verdict.what == Verdict::What::moves) {
    member.scope = scope_of(evidence);
    member.host = evidence.run.empty() ? evidence.host : std::nullopt;
    member.program = evidence.program;
    member.kind = kind_of(evidence);
  }
  bool is_outside = member.scope.empty();
  bool is_run = member.scope.starts_with("run:");
  bool is_its_place = member.scope == scope_of(evidence);
  if (member.is_ended() && is_its_place && (evidence.begins() || member.kind == Kind::person)) {
    member.ended_at.reset();
    member.end_reason.clear();
    member.left_behind.clear();
    if (is_outside && !evidence.connection.empty()) member.host = evidence.process;
  }
  // The first word from inside a run says what its agent is called.
  if (is_run && is_first) {
    if (!evidence.session.empty()) member.session_id = session_id_of(evidence);
    if (!evidence.agent_type.empty()) member.agent_type = evidence.agent_type;
  }
  if (verdict.takes_session && !evidence.session.empty()) member.is_unattributed = false;
  // Several processes speak for it: none of them is its life.
  if (is_outside && member.host && evidence.process != member.host) member.host.reset();
  // A name that a command in its shell was given is that command's.
  bool says_its_name = evidence.begins() || !evidence.connection.empty() || (is_run && is_first);
  if (says_its_name && !evidence.agent_id.empty() && evidence.agent_id != member.agent_id && !is_outside) {
    member.agent_id = evidence.agent_id;
    if (!is_run) member.name = evidence.agent_id;
  }
  return member;
}

Speaking speaking_of(const Member& member, const Evidence& evidence, const Verdict& verdict) {
  Speaking speaking{.connection = evidence.connection};
  // A process with one conversation has one session at a time, whichever it named last.
  bool is_only = evidence.run.empty() && evidence.host && has_one_conversation(evidence.program) &&
                 !evidence.session.empty() && evidence.connection.empty();
  speaking.closes_others =
      evidence.step == SessionStep::begins_anew || (is_only && evidence.step == SessionStep::begins);
  if (scope_of(evidence).empty())
    speaking.session = member.session_id;
  else if (verdict.takes_session)
    speaking.session = evidence.session;
  return speaking;
}

}  // namespace cru::members

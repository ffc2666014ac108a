#include "members/admission.h"

#include <fmt/format.h>

#include "members/member_keys.h"
#include "members/member_names.h"

namespace cru::members {
namespace {

Candidate to_candidate(Reader& reader, const Member& member, const OpenConnections& open) {
  Candidate candidate{.id = member.id, .scope = member.scope, .is_ended = member.is_ended()};
  // It is where it is: no run and no host takes it over by naming its session.
  if (member.kept_by != KeptBy::itself) candidate.scope = "kept:" + member.id;
  auto keys = keys_of(reader, member.id);
  for (auto& session : keys.sessions) candidate.sessions.push_back({std::move(session.id), session.is_open});
  for (auto& connection : keys.connections)
    if (open && open->contains(connection)) candidate.connections.push_back(std::move(connection));
  return candidate;
}

Judged judge_by_tables(Reader& reader, const Evidence& evidence, const OpenConnections& open) {
  Acquaintances known;
  for (const auto& member : list_members_in(reader, scope_of(evidence)))
    known.here.push_back(to_candidate(reader, member, open));
  if (auto owner = find_member(reader, evidence.run_member))
    known.run_member = to_candidate(reader, *owner, open);
  known.holder_of = [&](const std::string& session, const std::string& scope) -> std::optional<Candidate> {
    auto id = find_holder(reader, session, scope);
    auto holder = id ? find_member(reader, *id) : std::nullopt;
    if (!holder) return {};
    return to_candidate(reader, *holder, open);
  };
  return judge(evidence, known);
}

Result<Member> make_member(Tx& tx, const Evidence& evidence, const Verdict& verdict, const std::string& id) {
  auto member = new_member(evidence, verdict, id);
  if (member.session_id.empty() || is_session_taken(tx, member.session_id))
    member.session_id = session_id_from("member", id);
  if (member.name.empty()) member.name = next_name(tx, name_stem(evidence));
  return add_member(tx, std::move(member));
}

/// True if there was something to write.
bool update_member(Tx& tx, Member& member, const Evidence& evidence, const Verdict& verdict) {
  auto next = updated(member, evidence, verdict, !has_keys(tx, member.id));
  if (next.session_id != member.session_id && is_session_taken(tx, next.session_id))
    next.session_id = member.session_id;
  bool is_back = member.is_ended() && !next.is_ended();
  if (is_back || next.name != member.name) next.name = free_name(tx, next.name, next.id);
  if (next == member) return false;
  member = std::move(next);
  put_member(tx, member);
  return true;
}

}  // namespace

std::optional<Member> look_up(Reader& reader, const Evidence& evidence, const OpenConnections& open) {
  auto judged = judge_by_tables(reader, evidence, open);
  bool is_nobody =
      judged.verdict.what == Verdict::What::fresh || judged.verdict.what == Verdict::What::refused;
  if (is_nobody) return {};
  return find_member(reader, judged.verdict.member);
}

Result<Admitted> admit_member(Tx& tx, const Evidence& given, const std::string& id,
                              const OpenConnections& open) {
  auto [evidence, verdict] = judge_by_tables(tx, given, open);
  if (verdict.what == Verdict::What::refused)
    return fail(Code::conflict,
                fmt::format("the session {} belongs to {}, and this process does not belong to it",
                            given.session, find_member(tx, verdict.member)->name),
                "session_id",
                "an agent runs such commands in the foreground; to act as yourself, unset SESSION_ID, "
                "CLAUDE_CODE_SESSION_ID and CODEX_THREAD_ID");
  Admitted admitted;
  auto& member = admitted.member;
  if (verdict.what == Verdict::What::fresh) {
    auto made = make_member(tx, evidence, verdict, id);
    if (!made) return fail(std::move(made.error()));
    member = *std::move(made);
    admitted.has_changed = true;
  } else {
    member = *find_member(tx, verdict.member);
    admitted.has_changed = update_member(tx, member, evidence, verdict);
  }
  auto speaking = speaking_of(member, evidence, verdict);
  if (speaking.closes_others && close_sessions(tx, member.id)) admitted.has_changed = true;
  if (!speaking.session.empty() && note_session(tx, speaking.session, member.id, evidence.begins()))
    admitted.has_changed = true;
  if (!speaking.connection.empty() && note_connection(tx, speaking.connection, member.id))
    admitted.has_changed = true;
  return admitted;
}

}  // namespace cru::members

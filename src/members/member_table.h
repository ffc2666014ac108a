#pragma once
/// The table `members`, and the schema of those that go with it: `member_keys` and `member_numbers`.
#include <functional>
#include <map>
#include <span>

#include "members/member.h"
#include "store/store.h"

namespace cru::members {

std::span<const Migration> migrations();

std::optional<Member> find_member(Reader& reader, std::string_view id);
/// The parents of those of these members that have one, by member.
std::map<std::string, std::string> parents_of(Reader& reader, const std::vector<std::string>& ids);
/// Those that have not ended, oldest first, threads after the others; with `ended` then those that have, the
/// last first; and the live agents. At most `most` in all.
std::vector<Member> list_members(Reader& reader, bool ended, int64_t most);
/// Those that have ended since then, the last first.
std::vector<Member> list_ended_since(Reader& reader, Time since, int64_t most);
/// Those of a scope that have not ended, at most 1000; of no scope: none.
std::vector<Member> list_members_in(Reader& reader, std::string_view scope);
/// Whether somebody who has not ended has this session.
bool is_session_taken(Reader& reader, std::string_view session_id);
/// Those that have not ended and live as long as a process.
std::vector<Member> list_hosted_members(Reader& reader);

/// Adds a member under its name, or the name with a number behind it if another has it. Event
/// `member.joined`, except for threads and bodies, whose own rooms tell of them. Errors: overloaded (10,000
/// that have not ended, live agents not counted).
Result<Member> add_member(Tx& tx, Member member);
/// The same for a thread or a body with this id of its own. Whoever calls itself, and its session, as a
/// thread does (`agent_id`) is this member.
Result<Member> add_kept_member(Tx& tx, KeptBy kept_by, std::string_view id, Member member);
/// One that ended and goes on: a chat that is talked in again. Nothing if it has not ended.
void resume_member(Tx& tx, std::string_view id);
/// Writes what changed of one that is there. Event `member.changed`.
void put_member(Tx& tx, const Member& member);
/// Nothing if it has ended, or there is none. Event `member.left`. What it left behind is noted even then.
void end_member(Tx& tx, std::string_view id, std::string_view why, std::string_view left_behind = {});
/// Its session has ended, and with it whoever lives by nothing else.
void end_with_session(Tx& tx, std::string_view id, std::string_view why, std::string_view left_behind);
/// Everybody in a scope.
void end_members_in(Tx& tx, std::string_view scope, std::string_view why);
/// Ends those that were known before `cutoff`, live by nothing but their sessions, and have none, as
/// `has_session` says: what they came for was refused.
void end_forsaken_members(Tx& tx, Time cutoff, int64_t most,
                          const std::function<bool(Tx&, const std::string& member)>& has_session);
/// Ended ones from before `cutoff`, at most `most`. Returns how many are gone.
int64_t remove_old_members(Tx& tx, Time cutoff, int64_t most);

}  // namespace cru::members

#pragma once
/// The tables `members`, `member_keys` (the session ids and connections that speak for a member) and
/// `member_numbers` (the last number given behind each stem).
#include <functional>
#include <span>

#include "members/member.h"
#include "store/store.h"

namespace cru::members {

std::span<const Migration> migrations();

/// Whether `name` is one that was made up and numbered ("claude-3"): whoever comes next gets another.
bool is_numbered_name(Reader& reader, std::string_view name);
std::optional<Member> find_member(Reader& reader, std::string_view id);
/// Those that have not ended, oldest first, threads after the others; with `ended` then those that have, the
/// last first; and the live agents. At most `most` in all.
std::vector<Member> list_members(Reader& reader, bool ended, int64_t most);
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
/// Ended ones from before `cutoff`, at most `most`. Returns how many are gone.
int64_t remove_old_members(Tx& tx, Time cutoff, int64_t most);

/// Who is this? Writes nothing; nullopt: nobody yet.
std::optional<Member> look_up(Reader& reader, const Evidence& evidence,
                              const std::function<bool(const std::string& connection)>& is_open);
/// The same for somebody who changes something: makes the member if there is none, and notes what speaks for
/// it. `id` is for a new one.
Result<Member> admit_member(Tx& tx, const Evidence& evidence, const std::string& id,
                            const std::function<bool(const std::string& connection)>& is_open);
/// The member's conversation is not under this session id any more. False if it goes on under another.
bool close_session(Tx& tx, std::string_view member, std::string_view session);

}  // namespace cru::members

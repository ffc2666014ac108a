#pragma once
/// The table of approvals.
#include <map>
#include <span>

#include "approvals/rules.h"
#include "store/store.h"

namespace cru::approvals {

std::span<const Migration> migrations();

/// Adds one that nobody had: its id is the next, and is never given again.
Approval add(Tx& tx, Request request, const Moment& now);
void update(Tx& tx, const Approval& approval);
std::optional<Approval> find(Reader& reader, std::string_view id);
/// The newest for this tool use.
std::optional<Approval> find_of_use(Reader& reader, std::string_view thread, std::string_view use);
/// The newest, told oldest first, without input, preview and schema; `open_only`: those that wait for a
/// person.
std::vector<Approval> list(Reader& reader, bool open_only, int64_t limit = 1000);
/// Approved and not used yet, oldest first.
std::vector<Approval> list_unused(Reader& reader, int64_t limit = 1000);
/// What a member of a chat has asked for, but with a tool of ours, and was open after `since`; without what
/// it proposes.
std::vector<Approval> waits_of(Reader& reader, std::string_view chat_id, std::string_view member, Time since);
/// What a member has asked for and was open after `since`, by whatever way: all that wait, and of those that
/// were decided the newest; without what it proposes.
std::vector<Approval> asked_by(Reader& reader, std::string_view member, Time since);
/// One that waits, or was approved and not used yet; without its data, which may be megabytes.
struct Unfinished {
  std::string id = {}, use = {}, via = {};
};
/// Those of a thread, oldest first.
std::vector<Unfinished> unfinished_of(Reader& reader, std::string_view thread);
/// How many of an asker's wait for a person, and what their rows hold.
struct Amount {
  int64_t count = 0, bytes = 0;
};
Amount waiting_of(Reader& reader, std::string_view asker);
/// Whose an approval is: its member, or where nobody knows that its thread.
std::string_view asker_of(const Request& request);
/// Of what an asker was not given by a person (withdrawn, expired, or decided by a rule or a timeout), the
/// newest are kept: at most so many, with so many bytes. How many are gone.
int64_t drop_beyond(Tx& tx, std::string_view asker, const Amount& most);
/// The newest 1,000, oldest first, without input, preview and schema.
std::vector<Approval> list_of_chat(Reader& reader, std::string_view chat_id);
int64_t count_of_chat(Reader& reader, std::string_view chat_id);
/// Those of no chat that were decided before `cutoff`. How many are gone.
int64_t drop_old(Tx& tx, Time cutoff, int64_t most);
/// Those of a chat, those of these threads, and those of no chat that these members asked for, the first
/// 1,000, without what they propose: who asked, when, and what came of it.
std::vector<Approval> list_outcomes(Reader& reader, std::string_view chat_id,
                                    const std::vector<std::string>& threads,
                                    const std::vector<std::string>& members = {});
std::map<std::string, int64_t> count_by_state(Reader& reader);
void drop_of_chat(Tx& tx, std::string_view chat_id);

/// The rules of sessions, oldest first.
std::vector<Rule> session_rules(Reader& reader);
void add_session_rule(Tx& tx, const Rule& rule);
void drop_session_rule(Tx& tx, std::string_view id);
/// All of one session.
void drop_session_rules(Tx& tx, std::string_view session);

}  // namespace cru::approvals

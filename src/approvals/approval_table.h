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
/// Oldest first; `open_only`: those that wait for a person.
std::vector<Approval> list(Reader& reader, bool open_only, int64_t limit = 1000);
/// Those of a thread that wait, or were approved and not used yet.
std::vector<Approval> unfinished_of(Reader& reader, std::string_view thread);
std::vector<Approval> list_of_chat(Reader& reader, std::string_view chat_id);
/// Those of no chat that were decided before `cutoff`. How many are gone.
int64_t drop_old(Tx& tx, Time cutoff, int64_t most);
/// Those of a chat and those of these threads, the first 1,000, without what they propose: who asked, when,
/// and what came of it.
std::vector<Approval> list_outcomes(Reader& reader, std::string_view chat_id,
                                    const std::vector<std::string>& threads);
std::map<std::string, int64_t> count_by_state(Reader& reader);
void drop_of_chat(Tx& tx, std::string_view chat_id);

/// The rules of sessions, oldest first.
std::vector<Rule> session_rules(Reader& reader);
void add_session_rule(Tx& tx, const Rule& rule);
void drop_session_rule(Tx& tx, std::string_view id);
/// All of one session.
void drop_session_rules(Tx& tx, std::string_view session);

}  // namespace cru::approvals

#pragma once
/// The table of questions.
#include <span>

#include "inbox/question.h"
#include "store/store.h"

namespace cru::inbox {

std::span<const Migration> migrations();

std::optional<Question> find(Reader& reader, std::string_view id);
/// Oldest first; empty `task_id` means all runs.
std::vector<Question> list(Reader& reader, std::string_view task_id, bool pending_only);
/// What an execution or a session waits for an answer to, oldest first.
std::vector<Question> pending_of_asker(Reader& reader, std::string_view run_uid);
/// The executions that wait for a permission, each once.
std::vector<std::string> askers_of_permissions(Reader& reader);
/// What a member has asked and was open after `since`, oldest first.
std::vector<Question> asked_by(Reader& reader, std::string_view member, Time since);
/// The same of several members: the first 1,000 that were asked since then.
std::vector<Question> asked_by_any(Reader& reader, const std::vector<std::string>& members, Time since);
/// Answered, by a reply that its run must get on stdin, and not yet confirmed.
std::vector<Question> undelivered(Reader& reader);
/// False if a question with this id is there already: asking is idempotent.
bool add(Tx& tx, const Question& question);
void update(Tx& tx, const Question& question);
/// What its answer is made with.
void set_reply_context(Tx& tx, std::string_view id, std::string_view reply_context);
int64_t count_all_pending(Reader& reader);
int64_t count_of_asker(Reader& reader, std::string_view run_uid);
int64_t count_pending(Reader& reader, std::string_view task_id);
void remove_of(Tx& tx, std::string_view task_id);

}  // namespace cru::inbox

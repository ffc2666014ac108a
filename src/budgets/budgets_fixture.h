#pragma once
/// For tests: budgets on a store, and a person who is asked.
#include "approvals/approval_table.h"
#include "budgets/budgets_service.h"
#include "inbox/question_table.h"
#include "members/member_table.h"

namespace cru::budgets {

/// What budgets need of the store, and what they look at in it.
inline std::vector<Migration> test_tables() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), inbox::migrations(), approvals::migrations(), migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// A person is asked by this member: a question of this id.
inline Task<Result<inbox::Question>> ask_person(inbox::Inbox& inbox, std::string id, std::string member) {
  inbox::Question question{.id = std::move(id), .task_id = "t", .run_uid = "u", .prompt = "which?"};
  question.member = std::move(member);
  co_return co_await inbox.ask(std::move(question));
}

/// The same for an approval, which is decided at once if that is wanted: the store has its event.
inline approvals::Approval ask_approval(Tx& tx, std::string member) {
  approvals::Request request;
  request.thread = "s";
  request.member = member;
  request.via = approvals::Via::hook;
  auto asked = approvals::add(tx, std::move(request), {.wall = tx.now()});
  tx.emit({"approval.requested", "t", {{"member", member}}});
  return asked;
}
inline void decide_approval(Tx& tx, approvals::Approval asked) {
  auto member = asked.request.member;
  auto denied = approvals::step(std::move(asked), approvals::Deny{}, {.wall = tx.now()});
  CRU_ASSERT(denied.has_value());
  approvals::update(tx, denied->approval);
  tx.emit({"approval.denied", "t", {{"member", member}}});
}

}  // namespace cru::budgets

// Who is told that a budget was spent or changed, and that a person was asked or has answered.
#include "budgets/budgets_service.h"

namespace cru::budgets {

std::unique_ptr<Budgets::Watch> Budgets::watch(std::function<void()> check, std::string member,
                                               std::function<void()> asked) {
  watches_[++last_watch_] = {std::move(check), std::move(member), std::move(asked)};
  return std::make_unique<Watch>(*this, last_watch_);
}

void Budgets::tell_spent(const Result<Standing>& found) {
  if (found && found->shortage && spent_.insert(found->shortage->scope).second) tell_watches();
}

void Budgets::note_begun(const Payer& payer) {
  for (const auto& run : payer.runs) spent_.erase("run:" + run);
}

void Budgets::tell_watches() {
  auto all = watches_;  // a check may end a watch
  for (const auto& [id, watcher] : all) watcher.check();
}

void Budgets::tell_asked(const std::string& member) {
  auto all = watches_;
  for (const auto& [id, watcher] : all)
    if (watcher.asked && watcher.member == member) watcher.asked();
}

/// Whose time stands still, or goes on again.
Task<void> Budgets::follow_askers() {
  EventFilter filter{.entity = {}, .types = {"agent.question", "question.*", "approval.*"}};
  for (int64_t cursor = store_.events().last();;) {
    auto page = co_await store_.events().read(cursor, filter, 256);
    if (!page) {
      co_await loop_.sleep(1s);
      cursor = store_.events().last();
      continue;
    }
    for (const auto& event : page->events)
      if (auto data = parse_json(event.data); data && data->is_object())
        if (auto member = text_or(data->get_object(), "member"); !member.empty())
          tell_asked(std::string(member));
    cursor = page->scanned;
    if (!page->more) cursor = co_await store_.events().wait_for(cursor, filter, 1h);
  }
}

}  // namespace cru::budgets

#include "crew/accounts.h"

#include <algorithm>

#include "base/json.h"

namespace cru::crew {

void Accounts::keep(const std::string& chat_id, Account account) {
  if (account.empty()) return;
  if (!kept_.contains(chat_id) && kept_.size() >= most_)
    kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.turn; }));
  kept_[chat_id] = {std::move(account), ++turn_};
}

Account Accounts::of(const std::string& chat_id) const {
  auto found = kept_.find(chat_id);
  return found == kept_.end() ? Account() : found->second.account;
}

std::string to_remembered(const Account& account) {
  json::object texts;
  for (const auto& [name, value] : account) texts[name] = value;
  return to_text(texts);
}

Account from_remembered(const std::string& text) {
  Account account;
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return account;
  for (const auto& [name, value] : parsed->get_object())
    if (value.is_string()) account[std::string(name)] = std::string(value.get_string());
  return account;
}

}  // namespace cru::crew

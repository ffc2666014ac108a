#pragma once
/// Accounts: the variables by which programs find the account of whoever spoke last in a chat. In memory
/// only: never in a row, a log or an event. Rules only.
#include <cstdint>
#include <map>
#include <string>

namespace cru::crew {

using Account = std::map<std::string, std::string>;

class Accounts {
 public:
  explicit Accounts(size_t most = 1024) : most_(most) {}
  /// An empty one changes nothing. If there are too many, the one that was given longest ago is forgotten.
  void keep(const std::string& chat_id, Account account);
  /// Empty if there is none.
  Account of(const std::string& chat_id) const;
  void forget(const std::string& chat_id) { kept_.erase(chat_id); }

 private:
  struct Kept {
    Account account;
    uint64_t turn = 0;  ///< when it was given, as a count
  };
  size_t most_;
  uint64_t turn_ = 0;
  std::map<std::string, Kept> kept_;  ///< by chat
};

/// As the keeper remembers it, beyond the daemon's end.
std::string to_remembered(const Account& account);
/// What is not understood is no account.
Account from_remembered(const std::string& text);

}  // namespace cru::crew

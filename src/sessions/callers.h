#pragma once
/// Callers: who is here to take the answer of a request. What was done for a caller that has hung up is taken
/// back, unless somebody else is here with the same key: whoever sends the request again.
#include <map>
#include <memory>
#include <string>

namespace cru::coordination {

class Callers {
 public:
  Callers() = default;
  Callers(const Callers&) = delete;
  /// Held by the caller's frame, and gone with it.
  class Presence {
   public:
    /// Without a key nobody else can be the same caller.
    Presence(std::shared_ptr<Callers> callers, std::string key);
    ~Presence();
    Presence(const Presence&) = delete;
    const std::string& key() const { return key_; }

   private:
    std::shared_ptr<Callers> callers_;
    std::string key_;
  };
  bool is_anybody_here(const std::string& key) const { return present_.contains(key); }

 private:
  std::map<std::string, int> present_;  ///< how many with each key
  int64_t nameless_ = 0;
};

}  // namespace cru::coordination

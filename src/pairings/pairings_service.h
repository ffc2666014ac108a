#pragma once
/// Pairings: keys by which a place shows that a person is there, where its process cannot: the web page, a
/// container, another device through a tunnel. A person asks for a code, the other place exchanges it for a
/// key of its own. Only hashes are stored, of codes and of keys.
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/loop/clock.h"
#include "store/store.h"

namespace cru::pairings {

std::span<const Migration> migrations();

struct Pairing {
  std::string id;
  std::string label;  ///< what the person called the place
  Time created_at;
};

struct PairingCode {
  std::string text;
  std::string label;
  Time expires_at;
};

struct Redeemed {
  Pairing pairing;
  std::string key;  ///< said once, never stored
};

class Pairings {
 public:
  Pairings(Store& store, Clock& clock, Random& random) : store_(store), clock_(clock), random_(random) {}

  /// Reads the keys that are known. Before anybody is let in.
  Task<Result<>> recover();
  /// Good for a day and for one place, or, if it is `reusable`, for any number: a link is opened in a second
  /// browser too. Of more than 64 codes the oldest goes.
  Task<Result<PairingCode>> create_code(std::string label, bool reusable = false);
  /// `previous` is the key that the place has had so far, if any: it is revoked. Outcomes: the key; not_found
  /// (a wrong code, or one that was used or has expired). Of more than 256 keys the oldest goes.
  Task<Result<Redeemed>> redeem(std::string code, std::string previous = {});
  bool knows(std::string_view key) const;
  Task<Result<std::vector<Pairing>>> list();
  /// The key is refused from now on. Errors: not_found.
  Task<Result<Pairing>> revoke(std::string id);
  /// Every key and every code.
  Task<Result<>> drop_all();

 private:
  std::string make_secret(int words);
  Store& store_;
  Clock& clock_;
  Random& random_;
  std::map<std::string, std::string> keys_;  ///< hash to id
};

}  // namespace cru::pairings

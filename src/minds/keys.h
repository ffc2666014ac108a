#pragma once
/// Keys of providers: from the environment, from what a verb offered, from a file that is the user's alone.
/// They are read when they are needed, and are in no log, no error and no event.
#include <map>

#include "minds/mind.h"
#include "platform/loop/pool.h"

namespace cru::minds {

struct Key {
  std::string value;
  std::string
      source;  ///< "ANTHROPIC_API_KEY", "/home/me/.config/crucible/keys/anthropic"; empty: none is needed
};

class Keys {
 public:
  struct Places {
    std::string root;         ///< of the project: no key is read from inside it
    std::string home_config;  ///< ~/.config/crucible
    std::map<std::string, std::string> environment;
  };
  Keys(Pool& pool, Places places) : pool_(pool), places_(std::move(places)) {}

  /// The variable `key_env`, else what was offered, else the key file. Errors: mind_failure("not_configured")
  /// that says how to give one, or what is wrong with the file.
  Task<Result<Key>> find(Provider provider);
  /// Errors: invalid_argument, field `key`.
  Result<> offer(const std::string& provider, std::string key);

 private:
  Pool& pool_;
  const Places places_;
  std::map<std::string, std::string> offered_;
};

/// Reads a key file. Errors: not_found if there is none; forbidden, with the mending, if others can read it
/// or it stands inside the project; invalid_argument if it holds no key.
Result<std::string> read_key_file(const std::string& path, const std::string& root);

/// `text` with "[key]" wherever `key` stands; a short key only where it is a word of its own, for it is in
/// other words as well.
std::string without_key(std::string_view text, std::string_view key);

}  // namespace cru::minds

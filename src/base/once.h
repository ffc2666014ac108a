#pragma once
/// Once and Done: a request that may be sent again, and what came of it. Values; store/once.h carries it out.
#include "base/json.h"

namespace cru {

/// What makes a request the same request. An empty key: every call is a new one.
struct Once {
  std::string key;
  std::string input_hash;
  bool is_repeat = false;  ///< it was sent before, and a crash left open what came of it
};

/// What a closure did: the reply, and whether anything changed. Only a change is remembered; what changed
/// nothing may well turn out differently the next time.
struct Done {
  json::object reply;
  bool changed = true;
  int status = 0;  ///< HTTP status of a refusal that is told as a reply; 0: success
  /// The reply as it was kept, or written as text to begin with (`reply` is empty then): JSON text, which is
  /// told as it is. Empty if there is `reply` only.
  std::string kept = {};
};

}  // namespace cru

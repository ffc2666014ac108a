#pragma once
/// Ids as people type them: the beginning of one is enough where it is unique.
#include <string>

#include "edges/client/client.h"

namespace cru::cli {

using client::Client;

enum class Named { run, question, work, handoff, live, pairing, conversation };

/// The one id that begins with `prefix`; of conversations also the one that ends with it. The name of a run
/// stands for its only pending question. Errors: not_found with the nearest id as hint; invalid_argument if
/// several begin so.
Result<std::string> complete_id(Client& client, Named kind, const std::string& prefix);

/// Calls `call(id)`, and again with the whole id if the daemon knows none by the one given. An exact
/// id thus never costs a second question, and always wins over being the beginning of another.
template <class Call>
auto with_id(Client& client, Named kind, std::string& id, Call call) {
  auto outcome = call(id);
  if (outcome || outcome.error().code != Code::not_found) return outcome;
  auto whole = complete_id(client, kind, id);
  if (!whole) return decltype(outcome)(fail(whole.error()));
  if (*whole == id) return outcome;
  id = *whole;
  return call(id);
}

/// "/agents/ID" with the id made fit for a path.
inline std::string run_path(const std::string& id) { return "/agents/" + percent_encode(id); }
inline std::string question_path(const std::string& id) { return "/questions/" + percent_encode(id); }

}  // namespace cru::cli

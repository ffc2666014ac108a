#pragma once
/// Elicitation: a question of ask_user as a form at the client, and what comes back from there. Rules only.
/// The inbox has the question too: whichever is answered first counts.
#include <optional>
#include <string>

#include "base/json.h"

namespace cru::mcp {

/// Whether a client that declares these capabilities shows forms. One that names no mode has this one.
bool shows_forms(const json::object* capabilities);

/// A question that waits for its answer, from a reply of ask_user.
struct OpenQuestion {
  std::string id, prompt;
  std::vector<std::string> options;
  std::string asked_at;
};
/// Nothing if the reply is no question, or one that needs no answer any more.
std::optional<OpenQuestion> open_question(const json::value& reply);

/// The parameters of `elicitation/create`: one field, `answer`, with the options as its values.
json::object form_for(const OpenQuestion& question);

/// What a person did with the form. A client that fails is one that closed it.
struct Elicited {
  enum class Action { accept, decline, cancel };
  Action action = Action::cancel;
  std::string answer = {};
};
Elicited read_elicited(const json::object& result);

/// The reply of ask_user for a person who declined: the question is still in the inbox.
json::object declined_reply(const OpenQuestion& question);

}  // namespace cru::mcp

#include "edges/ws/speech_rules.h"

namespace cru::edges {

Result<> check_speaker(const api::Operation& operation, const api::Call& call) {
  if (operation.name != "say" || call.caller != api::run || !call.run_id.empty()) return {};
  return fail(Code::forbidden, "the run cannot be identified, so the message has no sender", "",
              "use the unix socket (for example cru say) from a process of the run");
}

bool Listener::hears_direct(std::string_view sender) const {
  return caller == api::person || (!run_id.empty() && run_id == sender);
}

bool Listener::hears(std::string_view event_type, std::string_view data) const {
  if (caller == api::person) return true;
  auto begins = [&](std::string_view prefix) { return event_type.starts_with(prefix); };
  if (begins("chat.") || begins("subagent.") || begins("pairing.") || begins("trust.") || begins("approval."))
    return false;
  bool is_question = begins("agent.question") || begins("question.");
  if (!is_question && event_type != "live.agent_spoke") return true;
  auto parsed = parse_json(data);
  const auto* said = parsed ? parsed->if_object() : nullptr;
  if (!said) return false;
  if (is_question) return !run_id.empty() && text_or(*said, "task_id") == run_id;
  return !bool_or(*said, "direct") || hears_direct(text_or(*said, "agent_id"));
}

}  // namespace cru::edges

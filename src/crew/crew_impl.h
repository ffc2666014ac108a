#pragma once
/// The crew's own parts, shared by its files.
#include "crew/crew_service.h"
#include "platform/log.h"

namespace cru::crew {

/// A thread that is being carried on.
struct Crew::Live {
  Stop stop;
  bool timed_out = false;
  std::string chat_id;
};

/// What carrying a thread on needs of its chat or subagent.
struct Crew::Thread {
  std::string id = {}, chat_id = {}, agent = {}, prompt = {}, model = {}, run_id = {}, resume = {},
              trace_id = {};
  int64_t depth = 0;
  Permissions permissions = {};
  std::vector<std::string> tools = {}, disallowed_tools = {};
  std::optional<int64_t> max_turns = {};
  std::vector<std::string> chain = {};
  bool is_primary = false;  ///< a chat's own
};

/// The name of a primary without a definition, and its prompt.
inline constexpr std::string_view plain_assistant = "assistant";
std::string_view assistant_prompt();

/// The failure of what somebody stopped.
Error cancelled();
/// Names the chat after its title and the day, so that neither a row nor a folder in `taken` has the name,
/// and writes it.
void insert_chat(Tx& tx, Chat& chat, const std::set<std::string>& taken);

/// "00-<trace>-<span>-01".
std::string traceparent(const std::string& trace_id, Random& random);

}  // namespace cru::crew

#include "api/handlers/coordination_handlers.h"

#include <fmt/format.h>

#include "base/id.h"

namespace cru::api {

Result<coordination::Who> who_of(std::string_view operation, const Call& call, const json::object& input) {
  const auto* row = find_operation(operation);
  bool only_reads = row && row->reads_only;
  coordination::Who who;
  // A process of some run that hides which one is nobody's: least of all the outside's.
  who.owner = call.caller == run && call.run_id.empty() ? std::string(unknown_run) : call.run_id;
  who.agent_id = call.agent_id;
  who.agent_type = call.agent_type;
  who.member = call.member;
  who.closes = call.closes_session;
  if (who.agent_type == "person" && call.caller != person) who.agent_type = "agent";
  if (who.agent_id.empty() && call.session_id.empty() && call.run_id.empty() && call.caller != person) {
    if (only_reads) return coordination::nobody(call.cwd);
    return fail(Code::invalid_argument, "invalid_agent_id: the request contains no agent id", "Cru-Agent-Id",
                "send the headers Cru-Agent-Id and Cru-Session-Id");
  }
  if (who.agent_id.empty() && call.session_id.empty()) {
    who.agent_id = call.run_id.empty() ? "person" : call.run_id;
    if (who.agent_type.empty() && call.run_id.empty()) who.agent_type = "person";
  }
  if (who.agent_type.empty()) who.agent_type = "claude_code";
  if (!who.agent_id.empty())
    if (auto valid = coordination::check_agent_id(who.agent_id); !valid)
      return fail(std::move(valid.error()));
  who.session_id = coordination::session_id_from(who.agent_id, call.session_id);
  who.cwd = call.cwd;
  for (std::string_view rest = call.capabilities; !rest.empty();) {
    auto end = std::min(rest.find(','), rest.size());
    auto word = rest.substr(0, end);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty() && who.capabilities.size() < 64) who.capabilities.emplace_back(word);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!call.request_id.empty() && !only_reads) {
    // A request belongs to its session: nobody gets another's stored reply.
    who.once.key = fmt::format("{}:{}:{}:{}", operation, who.owner, who.session_id, call.request_id);
    who.once.input_hash = fnv1a_hex(to_text(input));
  }
  return who;
}

std::string asker_of(const coordination::Who& who) {
  if (!who.owner.empty()) return who.owner;
  return "session:" + (who.agent_id.empty() ? who.session_id : who.agent_id);
}

Result<Reply> to_reply(Result<Done> done) {
  if (!done) return fail(std::move(done.error()));
  return Reply::raw(done->kept.empty() ? to_text(done->reply) : std::move(done->kept), done->status);
}

std::vector<std::string> texts_at(const json::object& input, std::string_view key) {
  std::vector<std::string> texts;
  if (const auto* list = array_at(input, key))
    for (const auto& text : *list) texts.emplace_back(text.as_string());
  return texts;
}

std::optional<int64_t> integer_at(const json::object& input, std::string_view key) {
  if (!input.contains(key)) return {};
  return int_or(input, key);
}

}  // namespace cru::api

// Primaries and subagents as members of the project.
#include <fmt/format.h>

#include "crew/crew_impl.h"
#include "members/member_table.h"
#include "platform/files/log.h"

namespace cru::crew {
namespace {

/// What coordination calls agents that think with our own minds.
constexpr std::string_view wire_type = "cru";

}  // namespace

void keep_member(Tx& tx, const Chat& chat) {
  auto id = members::kept_member_id(chat.id);
  if (chat.kind != Kind::chat) return;
  (void)budgets::draw_from(tx, id, {"chat:" + chat.id}, {});
  if (members::find_member(tx, id)) return members::resume_member(tx, id);
  auto added = members::add_kept_member(tx, members::KeptBy::thread, chat.id,
                                        {.id = {},
                                         .name = chat.agent,
                                         .kind = members::kind_of_mind(chat.provider),
                                         .definition = chat.agent,
                                         .program = chat.model,
                                         .agent_id = fmt::format("{}-{}", chat.agent, chat.id),
                                         .agent_type = std::string(wire_type),
                                         .doing = chat.title});
  // The chat goes on all the same: it is only not in the list.
  if (!added) log_error("cannot add the member of a chat", added.error(), {{"chat", chat.id}});
}

Result<> add_subagent_member(Tx& tx, const Subagent& subagent, const std::string& parent) {
  auto kind = members::kind_of_mind(subagent.provider);
  if (kind == members::Kind::model && subagent.is_program) kind = members::Kind::command;
  auto added = members::add_kept_member(tx, members::KeptBy::thread, subagent.task_id,
                                        {.id = {},
                                         .name = subagent.name(),
                                         .kind = kind,
                                         .parent = parent,
                                         .definition = subagent.agent,
                                         .program = subagent.model,
                                         .agent_type = std::string(wire_type),
                                         .doing = title_of(subagent.task)});
  if (!added) return fail(std::move(added.error()));
  budgets::Payer above{.member = parent};
  if (subagent.parent != subagent.chat_id) above.runs.push_back(subagent.parent);
  return budgets::draw_from(tx, added->id, {"run:" + subagent.task_id, "chat:" + subagent.chat_id}, {above});
}

}  // namespace cru::crew

#include "daemon/given_task.h"

#include "base/text.h"
#include "crew/crew_table.h"
#include "crew/last_word.h"
#include "members/member_table.h"
#include "runs/run_table.h"

namespace cru::daemon {
namespace {

/// Far more than agents can start each other; a chain that leads back to itself ends here.
constexpr int most_steps = 32;

/// One step up the chain: where to look next, or the task.
struct Place {
  std::string chat_id = {}, task_id = {};
  std::string task = {};
  bool is_end = false;
};

Place found(std::string_view task) { return {.task = std::string(first_line(trim(task))), .is_end = true}; }
Place nobody_knows() { return {.is_end = true}; }

Place above_chat(Reader& reader, const crew::Chat& chat, const std::string& thread) {
  if (chat.kind == crew::Kind::chat) {
    auto word = crew::last_word_of(reader, chat.id);
    return word ? found(*word) : nobody_knows();
  }
  if (chat.kind == crew::Kind::client) return {.task_id = chat.owner};
  auto subagent = crew::find_subagent(reader, thread);
  if (!subagent || subagent->chat_id != chat.id) return nobody_knows();
  return subagent->parent == chat.id ? found(subagent->task)
                                     : Place{.chat_id = chat.id, .task_id = subagent->parent};
}

Place above_run(Reader& reader, const runs::Run& run) {
  auto member = members::find_member(reader, run.member);
  if (!member) return nobody_knows();
  auto parent = members::find_member(reader, member->parent);
  if (member->parent.empty() || (parent && parent->kind == members::Kind::person)) return found(run.task);
  if (!parent) return nobody_knows();
  if (parent->kept_by == members::KeptBy::thread) return {.task_id = members::kept_id(*parent)};
  auto above = runs::find_of_member(reader, parent->id);
  return above && parent->scope == "run:" + above->uid ? Place{.task_id = above->task_id} : nobody_knows();
}

Place above(Reader& reader, const Place& at) {
  if (auto owner = crew::owner_of_run(reader, at.task_id))
    return {.chat_id = owner->chat_id, .task_id = owner->thread};
  auto subagent = crew::find_subagent(reader, at.task_id);
  auto chat_id = !at.chat_id.empty() ? at.chat_id : subagent ? subagent->chat_id : at.task_id;
  if (auto chat = crew::find_chat(reader, chat_id)) return above_chat(reader, *chat, at.task_id);
  if (auto run = runs::find(reader, at.task_id); run && at.chat_id.empty()) return above_run(reader, *run);
  return nobody_knows();
}

}  // namespace

std::string task_given_by_person(Reader& reader, const std::string& chat_id, const std::string& task_id) {
  Place at{.chat_id = chat_id, .task_id = task_id};
  for (int step = 0; step < most_steps && !at.is_end; ++step) at = above(reader, at);
  return at.task;
}

}  // namespace cru::daemon

// Ending a turn of a run, and beginning another: for programs that are talked to while they run.
#include "platform/files/log.h"
#include "runs/active_run.h"

namespace cru::runs {

bool can_be_interrupted(std::string_view backend) {
  const auto* adapter = find_adapter(backend);
  return adapter && !adapter->interruption("").empty();
}

Task<Result<>> Runs::interrupt(std::string uid, std::string key) {
  auto found = active_.find(uid);
  if (found == active_.end()) co_return fail(Code::not_running, "the run has ended");
  co_return co_await keeper_.write(uid, key, found->second->adapter->interruption(key), false);
}

Task<Result<>> Runs::go_on(std::string uid, std::string key, std::string words) {
  auto found = active_.find(uid);
  if (found == active_.end()) co_return fail(Code::not_running, "the run has ended");
  co_return co_await keeper_.write(uid, std::move(key), found->second->adapter->first_input(words), false);
}

Task<void> Runs::close_input(std::string uid) {
  auto found = active_.find(uid);
  if (found != active_.end()) co_await close_stdin(found->second);
}

void Runs::set_parked(const std::string& uid, std::string why) {
  auto found = active_.find(uid);
  if (found == active_.end() || found->second->parked_for == why) return;
  found->second->parked_for = std::move(why);
  loop_.spawn(emit_waiting(found->second->task_id, found->second->parked_for));
}

}  // namespace cru::runs

#include "daemon/state_folder.h"

#include <fmt/format.h>

#include <thread>

#include "base/id.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"
#include "platform/process/self.h"

namespace cru::daemon {

Result<> prepare_state(const api::Project& project) {
  auto state = project.state();
  for (const auto& folder : {state, project.output_folder(), project.log_folder(), state + "/exits"})
    if (auto made = make_folder(folder, 0700); !made) {
      made.error().hint = "the project's state is stored there: check the folder's permissions and the disk";
      return made;
    }
  // A repository may bring a `.coven` of its own: nothing in it may lead us elsewhere.
  for (const auto& folder : {state, project.output_folder(), project.log_folder(), state + "/exits"})
    if (!is_own_folder(folder))
      return fail(Code::forbidden, folder + " is not a folder that belongs to you", "",
                  "remove it and start again");
  // Older than us and readable by others? It holds output and a token: close it.
  (void)set_mode(state, 0700);
  auto ignore = state + "/.gitignore";
  if (file_exists(ignore)) return {};
  return write_file(ignore, "*\n");
}

Result<Fd> take_pid_file(const api::Project& project) {
  auto lock = lock_file(project.pid_file());
  // A daemon that was killed while it started a program leaves its lock to that child for a moment.
  for (int i = 0; i < 50 && !lock && lock.error().code == Code::conflict; ++i) {
    std::this_thread::sleep_for(20ms);
    lock = lock_file(project.pid_file());
  }
  if (!lock) {
    if (lock.error().code == Code::conflict)
      return fail(Code::conflict, std::string(api::already_running), "", "see: cru daemon status");
    return lock;
  }
  if (auto written = overwrite(*lock, fmt::format("{}\n", own_pid()), project.pid_file()); !written)
    return fail(written.error());
  return lock;
}

Result<std::string> load_token(const api::Project& project) {
  auto path = project.token_file();
  // Only a token that we made ourselves: a file that others could read, or that a repository brought, is
  // none.
  if (is_own_secret(path))
    if (auto known = read_file(path, 256); known && known->size() >= 64) return known->substr(0, 64);
  auto& random = system_random();
  std::string token;
  for (int word = 0; word < 4; ++word) token += fmt::format("{:016x}", random.next());
  (void)remove_file(path);
  if (auto created = create_exclusively(path, token + "\n", 0600); !created) return fail(created.error());
  return token;
}

std::string database_path(const api::Project& project) { return project.state() + "/coven.db"; }

Result<std::string> set_database_aside(const api::Project& project, Time now) {
  auto from = database_path(project);
  auto to = fmt::format("{}.damaged-{}", from, to_millis(now));
  for (const char* part : {"", "-wal", "-shm"})
    if (auto moved = move_file(from + part, to + part); !moved && moved.error().code != Code::not_found)
      return fail(moved.error());
  return to;
}

}  // namespace cru::daemon

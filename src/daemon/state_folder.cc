#include "daemon/state_folder.h"

#include <fmt/format.h>

#include "base/id.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/files/own_folder.h"
#include "platform/loop/clock.h"
#include "platform/process/self.h"

namespace cru::daemon {

Result<Fd> prepare_state(const api::Project& project) {
  // A repository may bring a `.coven` of its own: nothing in it may lead us elsewhere.
  if (auto ours = check_state_folder(project.root, ".coven"); !ours) return fail(ours.error());
  auto state = make_own_folder(project.root, ".coven", 0700);
  for (const char* folder : {".coven/output", ".coven/log", ".coven/exits", ".coven/door"}) {
    if (!state) break;
    if (auto made = make_own_folder(project.root, folder, 0700); !made) state = fail(std::move(made.error()));
  }
  if (!state) {
    if (state.error().code != Code::forbidden || state.error().hint.empty())
      state.error().hint = "the project's state is stored there: check the folder's permissions and the disk";
    return state;
  }
  // Older than us and readable by others? It holds output and a token: close it.
  (void)set_mode(project.state(), 0700);
  auto ignore = project.state() + "/.gitignore";
  if (file_exists(ignore)) return state;
  if (auto written = write_file(ignore, "*\n"); !written) return fail(std::move(written.error()));
  return state;
}

Result<ServingLock> take_project(const api::Project& project, const Fd& state) {
  auto lock = ServingLock::take(project.root, state, "covend");
  if (lock || lock.error().code != Code::conflict) return lock;
  return fail(Code::conflict, std::string(api::already_running), "", "see: cru daemon status");
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

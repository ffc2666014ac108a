#include "daemon/state_folder.h"

#include <fmt/format.h>

#include "base/id.h"
#include "platform/files/file_status.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"
#include "platform/process/self.h"

namespace cru::daemon {
namespace {

/// What is in it from the beginning. Below the one that is held: where that is removed just now, another one
/// that has only these folders would be nobody's for ever.
Result<> furnish(const api::Project& project, const StateFolder& state) {
  for (const char* folder : {"output", "log", "exits", "door"})
    if (auto made = make_own_folder(state.folder, folder, 0700); !made) return fail(std::move(made.error()));
  // Older than us and readable by others? It holds output and a token: close it.
  (void)set_mode(project.state(), 0700);
  auto ignore = project.state() + "/.gitignore";
  return file_exists(ignore) ? Result<>() : write_file(ignore, "*\n");
}

Error about_state(Error error) {
  if (error.hint.empty())
    error.hint = "the project's state is stored there: check the folder's permissions and the disk";
  return error;
}

}  // namespace

Result<StateFolder> prepare_state(const api::Project& project) {
  // What is not ours is refused in one sentence: the disk has nothing to do with it.
  if (auto ours = check_state_folder(project.root, ".coven"); !ours) return fail(std::move(ours.error()));
  auto state = open_state_folder(project.root, ".coven");
  if (!state) return fail(about_state(std::move(state.error())));
  if (auto furnished = furnish(project, *state); !furnished)
    return fail(about_state(std::move(furnished.error())));
  return state;
}

Result<> prepare_state_again(const api::Project& project, StateFolder& held) {
  auto kept = keep_state_folder(project.root, ".coven", held);
  return kept ? furnish(project, held) : kept;
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

#include "daemon/state_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/id.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"

namespace cru::daemon {

Result<> prepare_state(const api::Project& project) {
  auto state = project.state();
  for (const auto& folder : {state, project.output_folder(), project.log_folder(), state + "/exits"})
    if (auto made = make_folder(folder, 0700); !made) {
      made.error().hint = "the project's state is stored there: check the folder's permissions and the disk";
      return made;
    }
  // A repository may bring a `.coven` of its own: nothing in it may lead us elsewhere.
  for (const auto& folder : {state, project.output_folder(), project.log_folder(), state + "/exits"}) {
    struct stat status{};
    if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      return fail(Code::forbidden, folder + " is not a folder that belongs to you", "",
                  "remove it and start again");
  }
  // Older than us and readable by others? It holds output and a token: close it.
  ::chmod(state.c_str(), 0700);
  auto ignore = state + "/.gitignore";
  if (::access(ignore.c_str(), F_OK) == 0) return {};
  return write_file(ignore, "*\n");
}

Result<Fd> take_pid_file(const api::Project& project) {
  auto lock = lock_file(project.pid_file());
  // A daemon that was killed while it started a program leaves its lock to that child for a moment.
  for (int i = 0; i < 50 && !lock && lock.error().code == Code::conflict; ++i) {
    ::usleep(20'000);
    lock = lock_file(project.pid_file());
  }
  if (!lock) {
    if (lock.error().code == Code::conflict)
      return fail(Code::conflict, std::string(api::already_running), "", "see: cru daemon status");
    return lock;
  }
  auto pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock->get(), 0) != 0 || ::pwrite(lock->get(), pid.data(), pid.size(), 0) < 0)
    return fail(system_error(errno, "write " + project.pid_file()));
  return lock;
}

Result<std::string> load_token(const api::Project& project) {
  auto path = project.token_file();
  // Only a token that we made ourselves: a file that others could read, or that a repository brought, is
  // none.
  struct stat status{};
  bool is_ours = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                 status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  if (is_ours)
    if (auto known = read_file(path, 256); known && known->size() >= 64) return known->substr(0, 64);
  auto& random = system_random();
  std::string token;
  for (int word = 0; word < 4; ++word) token += fmt::format("{:016x}", random.next());
  ::unlink(path.c_str());
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(system_error(errno, "create " + path));
  auto line = token + "\n";
  if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(fd.get()) != 0)
    return fail(system_error(errno, "write " + path));
  return token;
}

std::string database_path(const api::Project& project) { return project.state() + "/coven.db"; }

Result<std::string> set_database_aside(const api::Project& project, Time now) {
  auto from = database_path(project);
  auto to = fmt::format("{}.damaged-{}", from, to_millis(now));
  for (const char* part : {"", "-wal", "-shm"})
    if (::rename((from + part).c_str(), (to + part).c_str()) != 0 && errno != ENOENT)
      return fail(system_error(errno, "move " + from + part));
  return to;
}

}  // namespace cru::daemon

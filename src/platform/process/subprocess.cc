#include "platform/process/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "platform/files/fd.h"

extern char** environ;

namespace cru {
namespace {

constexpr size_t max_output = 1 << 20;

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int ends[2];
  CRU_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

/// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& into) {
  char buffer[8192];
  ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR;
  if (count == 0) return false;
  into.append(buffer, std::min(static_cast<size_t>(count), max_output - std::min(max_output, into.size())));
  return true;
}

/// Reads both streams to their ends. False when the time is up first.
bool collect(Pipe& out, Pipe& err, ProgramResult& result, Duration limit) {
  auto until = std::chrono::steady_clock::now() + limit;
  while (out.read || err.read) {
    auto left = std::chrono::duration_cast<Duration>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd polls[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
    if (::poll(polls, 2, static_cast<int>(left)) <= 0) continue;
    if (polls[0].revents && !drain(out.read.get(), result.out)) out.read.reset();
    if (polls[1].revents && !drain(err.read.get(), result.err)) err.read.reset();
  }
  return true;
}

std::vector<char*> words_of(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

/// The exit code, 128 + the signal's number when it was killed.
int wait_for_exit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProgramResult> run_program(const std::vector<std::string>& argv, const std::string& cwd,
                                  Duration limit,
                                  const std::optional<std::vector<std::string>>& environment) {
  auto out = make_pipe(), err = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  posix_spawn_file_actions_addchdir_np(&actions, cwd.c_str());
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  auto words = words_of(argv);
  auto variables = environment ? words_of(*environment) : std::vector<char*>();
  pid_t pid = 0;
  int code = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(),
                          environment ? variables.data() : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return fail(Code::cannot_execute, fmt::format("cannot run {}: {}", argv[0], std::strerror(code)));
  out.write.reset();
  err.write.reset();

  ProgramResult result;
  bool in_time = collect(out, err, result, limit);
  if (!in_time) ::kill(-pid, SIGKILL);
  result.exit_code = wait_for_exit(pid);
  if (!in_time)
    return fail(Code::timed_out, fmt::format("{} timed out after {}", argv[0], format_duration(limit)));
  return result;
}

SystemResult<int> run_in_foreground(const std::vector<std::string>& argv) {
  auto words = words_of(argv);
  pid_t pid = 0;
  if (int code = posix_spawnp(&pid, words[0], nullptr, nullptr, words.data(), environ); code != 0)
    return std::unexpected(std::error_code(code, std::generic_category()));
  return wait_for_exit(pid);
}

namespace {

/// Empty if `file` can be executed, else why not.
std::string why_not_executable(const std::string& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (::access(file.c_str(), X_OK) != 0) return "it is not executable";
  return {};
}

}  // namespace

Result<std::string> find_program(const std::string& name, const std::string& path, const std::string& cwd) {
  if (name.find('/') != std::string::npos) {
    auto file = name.front() == '/' ? name : cwd + "/" + name;
    if (auto why = why_not_executable(file); !why.empty())
      return fail(Code::cannot_execute, fmt::format("cannot execute {}: {}", name, why), "argv",
                  "check the path and its execute permission");
    return file;
  }
  for (size_t at = 0; at <= path.size();) {
    auto end = std::min(path.find(':', at), path.size());
    auto folder = path.substr(at, end - at);
    if (!folder.starts_with('/')) folder = cwd + "/" + folder;  // as exec would see it; empty means here
    auto file = folder + "/" + name;
    if (why_not_executable(file).empty()) return file;
    at = end + 1;
  }
  return fail(Code::cannot_execute, fmt::format("command not found: {}", name), "argv",
              fmt::format("install it, or use its full path (searched {})", path));
}

}  // namespace cru

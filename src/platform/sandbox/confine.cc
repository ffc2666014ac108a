#include "platform/sandbox/confine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/guarded_paths.h"
#include "platform/files/files.h"
#include "platform/process/descendants.h"
#include "platform/sandbox/call_filter.h"
#include "platform/sandbox/confine_paths.h"
#include "platform/sandbox/guarding.h"
#include "platform/sandbox/jail.h"
#include "platform/sandbox/landlock.h"
#include "platform/sandbox/namespaces.h"
#include "platform/sandbox/socket_filter.h"

namespace cru {
namespace {

constexpr int leash = 3;
constexpr int cannot_confine = 125, cannot_execute = 127;

void tell(bool leashed, const std::string& text) {
  if (leashed) (void)!::write(leash, text.data(), text.size());
}

int refuse(const ConfineRequest& request, const std::string& why, int code) {
  tell(request.leashed, "failed " + why + "\n");
  auto line = "cru confine: " + why + "\n";
  if (!request.leashed) (void)!::write(2, line.data(), line.size());
  return code;
}

/// What it may not change, present or not.
std::vector<std::string> all_guarded(const ConfineRequest& request) {
  if (request.read_only) return {};
  std::vector<std::string> paths;
  auto add = [&](std::vector<std::string> more) {
    paths.insert(paths.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (const auto& folder : {request.root, request.folder}) {
    if (folder.empty()) continue;
    add(guarded_in(folder));
    for (const auto& nested : nested_repositories(folder)) add(guarded_in_repository(nested));
  }
  return paths;
}

LandlockWishes landlock_wishes(const ConfineRequest& request, const std::string& temporary, bool has_mounts) {
  LandlockWishes wishes;
  wishes.writable = {temporary,     "/dev/null",    "/dev/zero", "/dev/full", "/dev/tty",
                     "/dev/random", "/dev/urandom", "/dev/pts",  "/dev/ptmx"};
  if (has_mounts) wishes.writable.push_back("/dev/shm");
  if (!has_mounts) wishes.unreadable = secret_paths(request.root);
  if (!has_mounts && !request.folder.empty()) wishes.readable.push_back(request.folder);
  if (request.read_only) return wishes;
  if (has_mounts) {
    std::error_code error;
    if (auto cache = std::filesystem::canonical(cache_folder(), error); !error)
      wishes.writable.push_back(cache.string());
    wishes.writable.push_back(request.root);
    return wishes;
  }
  if (auto cache = project_cache(request.root); !cache.empty()) {
    wishes.writable.push_back(cache);
    wishes.readable.push_back(cache);
  }
  // Without mounts nothing can be closed in a folder that is open.
  auto guarded = guard(all_guarded(request), {request.root});
  std::vector<std::string> closed(guarded.readonly.begin(), guarded.readonly.end());
  closed.insert(closed.end(), guarded.links.begin(), guarded.links.end());
  for (auto& path : secret_paths(request.root))
    if (path != request.root + "/.coven") closed.push_back(std::move(path));
  auto open = [&](const std::string& folder) {
    for (auto& path : entries_but(folder, closed)) wishes.writable.push_back(std::move(path));
  };
  if (!request.folder.empty()) {
    open(request.folder);
    auto own = own_git_folder(request.root, request.folder);
    for (auto name : worktree_settings) closed.push_back(fmt::format("{}/{}", own, name));
    if (!own.empty()) open(own);
  }
  closed.push_back(request.root + "/.coven");
  open(request.root);
  return wishes;
}

/// In the process that will become the program. Returns only if it cannot.
int become(const ConfineRequest& request, const std::string& temporary, Namespaces spaces) {
  bool must = request.read_only || request.no_network;
  ::setsid();  // what it does to its own group must not meet us
  if (!drop_capabilities())
    return refuse(request, system_error(errno, "give up privileges").message, cannot_confine);
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  auto confined =
      landlock_version() > 0
          ? apply_landlock(landlock_wishes(request, temporary, spaces.mounts))
          : fail(Code::cannot_execute, "this kernel has no Landlock, which is required to restrict writing");
  if (!confined && must)
    return refuse(request,
                  confined.error().message +
                      "; without it, commands require the permissions FilesystemWrite and NetworkAccess",
                  cannot_confine);
  // Mounts that hide and guard mean nothing to whoever may make others.
  if (!filter_calls(spaces.mounts) && (must || spaces.mounts))
    return refuse(request, system_error(errno, "filter system calls").message, cannot_confine);
  if (request.no_network)
    if (auto closed = refuse_sockets(spaces.network); !closed)
      return refuse(request, closed.error().message, cannot_confine);
  ::setenv("TMPDIR", temporary.c_str(), 1);
  if (!spaces.mounts && !request.read_only)
    if (auto cache = project_cache(request.root); !cache.empty())
      ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  std::vector<char*> words;
  for (const auto& word : request.argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  return refuse(request, fmt::format("cannot run {}: {}", request.argv[0], std::strerror(errno)),
                cannot_execute);
}

/// Waits for `child`, reaping all others that come along.
int wait_for(pid_t child) {
  for (int status = 0;;) {
    pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;
  }
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

/// Starts the program, waits for it and tells how it ended.
int run(const ConfineRequest& request, const std::string& temporary, Namespaces spaces) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(become(request, temporary, spaces));
  if (child < 0) return refuse(request, system_error(errno, "start a process").message, cannot_confine);
  int status = wait_for(child);
  // Only the first line counts: after a "failed" this one says nothing.
  tell(request.leashed, WIFSIGNALED(status) ? fmt::format("signal {}\n", WTERMSIG(status))
                                            : fmt::format("exit {}\n", WEXITSTATUS(status)));
  return exit_code_of(status);
}

/// The first of its processes: when it ends, the kernel ends all the others.
[[noreturn]] void be_first(const ConfineRequest& request, const std::string& temporary, Namespaces spaces) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (spaces.mounts) (void)mount_own_proc();
  ::_exit(run(request, temporary, spaces));
}

/// Until the process ends or the leash is let go.
int watch(pid_t child, bool leashed) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd polls[2] = {{process.get(), POLLIN, 0}, {leashed ? leash : -1, POLLIN, 0}};
  while (::poll(polls, 2, -1) < 0 && errno == EINTR) {
  }
  if (polls[1].revents) ::kill(child, SIGKILL);
  int status = wait_for(child);
  kill_below({}, nullptr);
  return exit_code_of(status);
}

/// A worktree's own part of what git keeps of them, which is guarded as a whole.
void add_own_git(const ConfineRequest& request, std::vector<Bind>& binds) {
  auto own = request.folder.empty() ? std::string() : own_git_folder(request.root, request.folder);
  if (own.empty()) return;
  binds.push_back({own, own, true});
  for (auto name : worktree_settings)
    if (auto path = fmt::format("{}/{}", own, name); ::access(path.c_str(), F_OK) == 0)
      binds.push_back({path, path, false});
}

std::vector<std::string> shown_of(const ConfineRequest& request) {
  if (request.folder.empty()) return {};
  return {request.folder};
}

std::vector<std::string> listed(const std::set<std::string>& paths) { return {paths.begin(), paths.end()}; }

int confine(const ConfineRequest& request, const std::string& temporary) {
  auto guarded = guard(all_guarded(request), {request.root});
  if (!guarded.trouble.empty()) return refuse(request, guarded.trouble, cannot_confine);
  std::vector<std::string> writable = {temporary};
  std::vector<Bind> binds;
  if (!request.read_only) {
    auto cache = cache_folder(), own = project_cache(request.root);
    bool is_apart = !cache.empty() && !is_or_is_below(request.root, cache);
    if (is_apart && !own.empty() && make_folder(cache, 0700)) binds.push_back({own, cache, true});
    writable.push_back(request.root);
    add_own_git(request, binds);
  }
  auto spaces = enter_namespaces({.empty_network = request.no_network,
                                  .writable = std::move(writable),
                                  .hidden = hidden_paths(request.root),
                                  .shown = shown_of(request),
                                  .immovable = listed(guarded.folders),
                                  .links = listed(guarded.links),
                                  .readonly = listed(guarded.readonly),
                                  .binds = std::move(binds)});
  // Without a namespace orphans would leave us, and be taken for a person's.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t first = ::fork();
  if (first == 0) be_first(request, temporary, spaces);
  if (first < 0) return refuse(request, system_error(errno, "start a process").message, cannot_confine);
  return watch(first, request.leashed);
}

}  // namespace

Result<ConfineRequest> parse_confine(int argc, char** argv) {
  ConfineRequest request;
  int at = 0;
  for (; at < argc; ++at) {
    std::string_view word = argv[at];
    if (word == "--") break;
    if (word == "--read-only") {
      request.read_only = true;
    } else if (word == "--no-network") {
      request.no_network = true;
    } else if (word == "--leash") {
      request.leashed = true;
    } else if (word == "--root" && at + 1 < argc) {
      request.root = argv[++at];
    } else if (word == "--folder" && at + 1 < argc) {
      request.folder = argv[++at];
    } else {
      return fail(Code::invalid_argument, fmt::format("unknown option {}", word), std::string(word));
    }
  }
  for (++at; at < argc; ++at) request.argv.emplace_back(argv[at]);
  if (request.argv.empty()) return fail(Code::invalid_argument, "no program after --", "argv");
  std::error_code error;
  auto root = std::filesystem::canonical(request.root, error).string();
  if (error || root.size() < 2)
    return fail(Code::invalid_argument, "--root must be a folder, and not / itself", "--root");
  request.root = root;
  if (!request.folder.empty()) request.folder = std::filesystem::canonical(request.folder, error).string();
  // Any other folder is in the root, or is none of the program's business.
  if (error || !request.folder.starts_with(root + "/.coven/worktrees/")) request.folder.clear();
  return request;
}

ConfineReport parse_confine_report(const std::string& text) {
  ConfineReport report;
  auto number = [&](std::string_view word) {
    int out = 0;
    std::from_chars(text.data() + word.size(), text.data() + text.size(), out);
    return out;
  };
  if (text.starts_with("exit ")) {
    report.exit_code = number("exit ");
  } else if (text.starts_with("signal ")) {
    report.signal = number("signal ");
  } else if (text.starts_with("failed ")) {
    report.failure = text.substr(7, text.find('\n') - 7);
  } else {
    report.signal = SIGKILL;  // it was killed before it could say
  }
  return report;
}

int confine_main(int argc, char** argv) {
  if (argc == 1 && std::string_view(argv[0]) == "--means") {
    auto text = to_text(to_json(try_jail())) + "\n";
    return ::write(1, text.data(), text.size()) > 0 ? 0 : cannot_confine;
  }
  auto request = parse_confine(argc, argv);
  if (!request) return refuse({}, request.error().message, cannot_confine);
  if (request->leashed && ::fcntl(leash, F_SETFD, FD_CLOEXEC) != 0) request->leashed = false;
  ::close_range(request->leashed ? leash + 1 : leash, ~0u, 0);
  for (int ignored : {SIGPIPE, SIGXFSZ}) ::signal(ignored, SIG_DFL);
  std::error_code error;
  auto everybodys = std::filesystem::temp_directory_path(error);
  if (!error) everybodys = std::filesystem::canonical(everybodys, error);
  auto temporary = everybodys.string() + "/cru-command-XXXXXX";
  if (error || !::mkdtemp(temporary.data()))
    return refuse(*request, system_error(errno, "make " + temporary).message, cannot_confine);
  auto absent = absent_of(all_guarded(*request));
  std::erase_if(absent, [&](const auto& path) { return !is_or_is_below(path, request->root); });
  // Whoever enters the namespaces cannot remove the folder any more: it is a mount point there.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  pid_t warden = ::fork();
  if (warden == 0) ::_exit(confine(*request, temporary));
  int code = warden < 0 ? refuse(*request, system_error(errno, "start a process").message, cannot_confine)
                        : exit_code_of(wait_for(warden));
  kill_below({}, nullptr);
  std::filesystem::remove_all(temporary, error);
  if (auto told = set_aside_new(absent); !told.empty()) (void)!::write(2, told.data(), told.size());
  ::_exit(code);  // what runs at an exit cannot where no process can be made any more
}

}  // namespace cru

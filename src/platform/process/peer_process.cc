#include "platform/process/peer_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "platform/files/files.h"
#include "platform/process/marked_processes.h"
#include "platform/process/process_exit.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

/// Takes the next word off a line.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  auto word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

/// The sockets with these ports, as "socket:[INODE]".
std::vector<std::string> socket_names(uint16_t local_port, uint16_t remote_port) {
  auto local = fmt::format(":{:04X}", local_port), remote = fmt::format(":{:04X}", remote_port);
  std::vector<std::string> names;
  for (auto file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    auto table = read_file(file);
    if (!table) continue;
    std::string_view rest = *table;
    while (!rest.empty()) {
      auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      take_word(line);  // its place in the table
      auto from = take_word(line), to = take_word(line);
      if (!from.ends_with(local) || !to.ends_with(remote)) continue;
      for (int passed = 0; passed < 6; ++passed) take_word(line);
      if (auto inode = take_word(line); inode != "0") names.push_back(fmt::format("socket:[{}]", inode));
    }
  }
  return names;
}

/// Every descriptor of every process is looked at, for each new connection: without a path for each of them.
bool holds(int pid, const std::vector<std::string>& sockets) {
  Fd folder(::open(fmt::format("/proc/{}/fd", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> listed(folder ? ::fdopendir(folder.get()) : nullptr, ::closedir);
  if (!listed) return false;
  int at = folder.release();
  std::array<char, 64> target;
  while (const auto* entry = ::readdir(listed.get())) {
    auto length = ::readlinkat(at, entry->d_name, target.data(), target.size());
    if (length <= 0) continue;  // closed meanwhile, or no descriptor
    std::string_view name(target.data(), static_cast<size_t>(length));
    if (std::ranges::find(sockets, name) != sockets.end()) return true;
  }
  return false;
}

/// Whether a process shares this namespace ("user", "mnt") with us. What cannot be read is not shared.
bool shares_namespace(int pid, const char* kind) {
  std::error_code error;
  auto ours = fs::read_symlink(fmt::format("/proc/self/ns/{}", kind), error);
  if (error) return false;
  auto theirs = fs::read_symlink(fmt::format("/proc/{}/ns/{}", pid, kind), error);
  return !error && ours == theirs;
}

}  // namespace

bool descends_from(int pid, int ancestor) {
  for (int depth = 0; pid > 1 && depth < 4096; ++depth) {
    if (pid == ancestor) return true;
    pid = parent_of(pid);
  }
  return false;
}

PeerLook look_at_peer(int pid, const Fd* handle, int top) {
  PeerLook look{.is_outside = pid <= 0};
  if (look.is_outside) return look;
  look.ancestry = ancestors_of(pid, top);
  look.is_foreign = !shares_namespace(pid, "user") || !shares_namespace(pid, "mnt");
  look.process = identity_of(pid);
  // Asked last: one that is there now was there while we looked.
  if (handle && (!*handle || has_ended(*handle))) look.process.reset();
  return look;
}

std::vector<SocketHolder> find_holders(uint16_t client_port, uint16_t server_port) {
  std::vector<SocketHolder> holders;
  auto sockets = socket_names(client_port, server_port);
  if (sockets.empty()) return holders;
  for (int pid : all_processes()) {
    if (!holds(pid, sockets)) continue;
    Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // The pid may have been given to another before the handle held it.
    if (handle && holds(pid, sockets)) holders.push_back({pid, std::move(handle)});
  }
  return holders;
}

bool belongs_to(int pid, int main, int64_t start_time) {
  bool descends = descends_from(pid, main), is_of_session = session_of(pid) == main;
  // Asked last: one that is the same now was so while we looked. The number of one that is gone is not given
  // away while its session has members.
  auto now = start_time_of(main);
  return now == start_time ? descends || is_of_session : now == 0 && is_of_session;
}

}  // namespace cru

#include "platform/process/peer_process.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "platform/files/files.h"
#include "platform/process/marked_processes.h"
#include "platform/process/process_exit.h"

namespace cru {
namespace {

namespace fs = std::filesystem;

/// The sockets with these ports, as "socket:[INODE]".
std::set<std::string> socket_names(uint16_t local_port, uint16_t remote_port) {
  auto local = fmt::format(":{:04X}", local_port), remote = fmt::format(":{:04X}", remote_port);
  std::set<std::string> names;
  for (auto file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    auto table = read_file(file);
    if (!table) continue;
    std::istringstream lines(*table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string slot, from, to, state, queues, timer, retransmits, uid, timeout, inode;
      words >> slot >> from >> to >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
      if (from.ends_with(local) && to.ends_with(remote) && inode != "0")
        names.insert("socket:[" + inode + "]");
    }
  }
  return names;
}

bool holds(int pid, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator at(fmt::format("/proc/{}/fd", pid), error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;  // closed meanwhile
    if (sockets.contains(fs::read_symlink(at->path(), gone).string())) return true;
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

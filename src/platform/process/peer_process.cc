#include "platform/process/peer_process.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "platform/files/files.h"
#include "platform/process/marked_processes.h"

namespace cru {
namespace {

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
      if (from.ends_with(local) && to.ends_with(remote)) names.insert("socket:[" + inode + "]");
    }
  }
  return names;
}

bool holds(int pid, const std::set<std::string>& sockets) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error))
    if (sockets.contains(std::filesystem::read_symlink(entry.path(), error).string())) return true;
  return false;
}

}  // namespace

bool descends_from(int pid, int ancestor) {
  for (int depth = 0; pid > 1 && depth < 4096; ++depth) {
    if (pid == ancestor) return true;
    pid = parent_of(pid);
  }
  return false;
}

bool belongs_to(int pid, int main, int64_t start_time) {
  bool descends = descends_from(pid, main), is_of_session = session_of(pid) == main;
  // Asked last: one that is the same now was so while we looked. The number of one that is gone is not given
  // away while its session has members.
  auto now = start_time_of(main);
  return now == start_time ? descends || is_of_session : now == 0 && is_of_session;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool has_holder(uint16_t client_port, uint16_t server_port) {
  for (const auto& name : socket_names(client_port, server_port))
    if (name != "socket:[0]") return true;
  return false;
}

bool is_held_below(int ancestor, uint16_t client_port, uint16_t server_port) {
  auto sockets = socket_names(client_port, server_port);
  if (sockets.empty()) return false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    auto name = entry.path().filename().string();
    int pid = 0;
    auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc() || end != name.data() + name.size()) continue;
    if (pid != ancestor && descends_from(pid, ancestor) && holds(pid, sockets)) return true;
  }
  return false;
}

}  // namespace cru

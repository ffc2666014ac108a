#include "platform/process/peer_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>

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

using Ports = std::set<uint16_t>;
/// The own ports of sockets, by the sockets' names: "socket:[INODE]".
using Sockets = std::unordered_map<std::string, uint16_t>;

/// The port at the end of ADDRESS:PORT in hexadecimal; 0 if there is none.
uint16_t port_of(std::string_view address) {
  uint16_t port = 0;
  auto digits = address.substr(std::min(address.rfind(':') + 1, address.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), port, 16);
  return port;
}

Sockets find_sockets(const Ports& local_ports, uint16_t remote_port) {
  Sockets sockets;
  for (auto file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    auto table = read_file(file);
    if (!table) continue;
    std::string_view rest = *table;
    while (!rest.empty()) {
      auto line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      take_word(line);  // its place in the table
      auto local = port_of(take_word(line)), remote = port_of(take_word(line));
      if (remote != remote_port || !local_ports.contains(local)) continue;
      for (int passed = 0; passed < 6; ++passed) take_word(line);
      if (auto inode = take_word(line); inode != "0") sockets[fmt::format("socket:[{}]", inode)] = local;
    }
  }
  return sockets;
}

/// Those of the sockets that a process holds. All its descriptors are looked at, without a path for each.
Ports held_by(int pid, const Sockets& sockets) {
  Ports held;
  Fd folder(::open(fmt::format("/proc/{}/fd", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> listed(folder ? ::fdopendir(folder.get()) : nullptr, ::closedir);
  if (!listed) return held;
  int at = folder.release();
  std::array<char, 64> target;
  while (const auto* entry = ::readdir(listed.get())) {
    auto length = ::readlinkat(at, entry->d_name, target.data(), target.size());
    if (length <= 0) continue;  // closed meanwhile, or no descriptor
    auto found = sockets.find(std::string(target.data(), static_cast<size_t>(length)));
    if (found != sockets.end()) held.insert(found->second);
  }
  return held;
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
  return std::move(find_holders(std::set{client_port}, server_port)[client_port]);
}

std::map<uint16_t, std::vector<SocketHolder>> find_holders(const std::set<uint16_t>& client_ports,
                                                           uint16_t server_port) {
  std::map<uint16_t, std::vector<SocketHolder>> holders;
  for (auto port : client_ports) holders[port];
  auto sockets = find_sockets(client_ports, server_port);
  if (sockets.empty()) return holders;
  for (int pid : all_processes()) {
    if (held_by(pid, sockets).empty()) continue;
    Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!handle) continue;
    // The pid may have been given to another before the handle held it: what counts is seen after that.
    for (auto port : held_by(pid, sockets))
      holders[port].push_back({pid, Fd(::fcntl(handle.get(), F_DUPFD_CLOEXEC, 0))});
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

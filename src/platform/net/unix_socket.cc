#include "platform/net/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platform/files/files.h"
#include "platform/files/handed_stream.h"

namespace cru {
namespace {

constexpr int backlog = 1024;

/// The address of a socket in a folder held open: sun_path has 108 bytes, a path may have 4,096.
struct UnixAddress {
  Fd folder;
  std::string name;
  sockaddr_un address{};
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Result<UnixAddress> unix_address(const std::string& path) {
  auto slash = path.rfind('/');
  // Without a slash at its end, so that a link in the folder's place is not followed.
  auto parent = slash == std::string::npos ? std::string(".") : path.substr(0, std::max<size_t>(slash, 1));
  UnixAddress out;
  out.name = slash == std::string::npos ? path : path.substr(slash + 1);
  out.folder = Fd(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!out.folder) return fail(system_error(errno, "open folder " + parent));
  auto indirect = fmt::format("/proc/self/fd/{}/{}", out.folder.get(), out.name);
  if (out.name.empty() || indirect.size() >= sizeof out.address.sun_path)
    return fail(Code::invalid_argument, "the socket's name is empty or too long: " + path);
  out.address.sun_family = AF_UNIX;
  std::memcpy(out.address.sun_path, indirect.c_str(), indirect.size() + 1);
  return out;
}

Result<Fd> make_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(system_error(errno, "create a socket"));
  return fd;
}

/// Removes what is at the address if it is a socket at which nobody listens.
Result<> remove_stale(const UnixAddress& at, const std::string& path) {
  struct stat status{};
  if (::fstatat(at.folder.get(), at.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return fail(system_error(errno, "check " + path));
  }
  if (!S_ISSOCK(status.st_mode)) return fail(Code::conflict, path + " exists and is not a socket");
  auto probe = make_socket();
  if (!probe) return fail(probe.error());
  if (::connect(probe->get(), at.get(), sizeof at.address) == 0 || errno != ECONNREFUSED)
    return fail(Code::conflict, "another process is listening on " + path);
  if (::unlinkat(at.folder.get(), at.name.c_str(), 0) != 0 && errno != ENOENT)
    return fail(system_error(errno, "remove " + path));
  return {};
}

}  // namespace

Result<Fd> listen_unix(const std::string& path) {
  auto at = unix_address(path);
  if (!at) return fail(at.error());
  if (auto removed = remove_stale(*at, path); !removed) return fail(removed.error());
  auto fd = make_socket();
  if (!fd) return fd;
  // Linux gives the socket's file the mode of the unbound socket: no umask, which is the whole process's.
  if (::fchmod(fd->get(), 0600) != 0) return fail(system_error(errno, "protect " + path));
  if (::bind(fd->get(), at->get(), sizeof at->address) != 0) {
    if (errno == EADDRINUSE) return fail(Code::conflict, "another process is listening on " + path);
    return fail(system_error(errno, "bind " + path));
  }
  allow_descriptors(*fd, false);  // accepted sockets inherit it
  if (::listen(fd->get(), backlog) != 0) return fail(system_error(errno, "listen on " + path));
  return fd;
}

Result<Fd> connect_unix(const std::string& path) {
  auto at = unix_address(path);
  if (!at) return fail(at.error());
  struct stat status{};
  if (::fstatat(at->folder.get(), at->name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISSOCK(status.st_mode))
    return fail(Code::forbidden, path + " is not a socket");
  auto fd = make_socket();
  if (!fd) return fd;
  while (::connect(fd->get(), at->get(), sizeof at->address) != 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED || errno == EAGAIN)
      return fail(Code::daemon_unreachable, "no process is listening on " + path);
    return fail(system_error(errno, "connect to " + path));
  }
  return fd;
}

UnixGuest accept_unix(const Fd& listening) {
  UnixGuest guest;
  guest.socket = Fd(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!guest.socket) {
    bool is_gone = errno == EINTR || errno == ECONNABORTED,
         is_empty = errno == EAGAIN || errno == EWOULDBLOCK;
    guest.outcome = is_gone ? UnixGuest::gone : is_empty ? UnixGuest::nobody : UnixGuest::trouble;
    return guest;
  }
  guest.peer = peer_of(guest.socket);
  guest.outcome = guest.peer.uid == static_cast<uid_t>(-1) ? UnixGuest::gone : UnixGuest::connected;
  return guest;
}

}  // namespace cru

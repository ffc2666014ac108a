#pragma once
/// Transfers: what a descriptor gives or takes at this moment. Never waits; whoever
/// gets `later` watches the descriptor (Loop::watch) and tries again.
#include <cstddef>
#include <span>
#include <string_view>

#include "platform/files/fd.h"

namespace cru {

struct Transfer {
  enum Outcome { some, later, ended, broken };
  Outcome outcome = broken;
  size_t bytes = 0;  ///< of `some`: one at least
};

/// From a descriptor that does not block (O_NONBLOCK), or of which it is known that there is something.
Transfer read_now(int fd, std::span<char> into);
inline Transfer read_now(const Fd& fd, std::span<char> into) { return read_now(fd.get(), into); }
/// From a socket, blocking or not.
Transfer receive_now(const Fd& socket, std::span<char> into);
/// To a socket, blocking or not. Never `ended`: a peer that is gone is `broken`.
Transfer send_now(int socket, std::string_view bytes);
inline Transfer send_now(const Fd& socket, std::string_view bytes) { return send_now(socket.get(), bytes); }
/// To a descriptor that does not block, or to one for which it is right to wait. Never `ended`. A pipe that
/// nobody reads raises SIGPIPE, unless that is ignored.
Transfer write_now(int fd, std::string_view bytes);
/// True if the socket's peer has closed its end, or all is over.
bool has_hung_up(const Fd& socket);

enum class StreamKind { socket, pipe, other };
StreamKind kind_of_stream(int fd);
/// The writing end of the same pipe, opened anew, so that it does not block for us and for nobody else is
/// changed. Empty where the system refuses.
Fd reopen_pipe(int fd);

}  // namespace cru

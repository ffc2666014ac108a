#pragma once
/// HandedStream: a pipe or unix socket that another process has handed to us and still holds. It may be
/// hostile: we never wait for the stream, whatever is done to it meanwhile, and we change nothing about it
/// that its other holders could notice.
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "platform/files/fd.h"
#include "platform/files/shared_memory.h"
#include "platform/files/transfer.h"

namespace cru {

/// Whether others may send descriptors over this socket. Those that nobody takes would be closed by the
/// system in the thread that reads, and closing may wait: so nothing but `mcp.sock` takes any, and that only
/// once. Before Linux 6.16 this cannot be set, and has no effect.
void allow_descriptors(const Fd& socket, bool is_allowed);

class HandedStream {
 public:
  enum Way { to_read, to_write };
  /// Accepts a pipe, or a unix socket that is a stream, if the other process may use it this way. None, and
  /// `handed` untouched, if it is anything else. A named pipe is something else: its folder may be served by
  /// the other process.
  static std::optional<HandedStream> accept(Fd& handed, Way way);

  bool is_socket() const { return is_socket_; }
  int fd() const { return stream_.get(); }
  Transfer read(std::span<char> into) const;
  /// To be watched for what there is to read.
  int watched() const { return watched_ ? watched_.get() : stream_.get(); }

 private:
  static std::optional<HandedStream> accept_pipe(Fd& handed, Way way);
  static std::optional<HandedStream> accept_socket(Fd& handed, Way way);

  Fd stream_;
  Fd watched_;  ///< of a socket: readable when the socket is. A loop makes non-blocking what it watches.
  bool is_socket_ = false;
};

struct Pipe {
  Fd out, in;  ///< to read from, to write to
};
/// A new pipe, whose ends do not block. Empty where the system refuses.
Pipe make_pipe();

/// NotedOutput: a stream to write to, such that the process that has handed it to us can tell whether
/// something was written, at whatever instant we are killed. What it looks at is the note, which is the first
/// word of a shared memory, and the stage, a pipe that it hands to us too:
///  - something is in the stage: it was not written, and is all of it there;
///  - the stage is empty, and the note is not 0: it was written;
///  - otherwise it was not.
///
/// On a socket the system itself notes what it has sent, before it looks whether we are to die. To a pipe the
/// bytes are moved from the stage, all at once.
class NotedOutput {
 public:
  /// None, and some of the descriptors untouched, if they are not such.
  static std::optional<NotedOutput> accept(Fd& stream, Fd& stage_out, Fd& stage_in);

  /// What is not longer than this is written in whole or not at all.
  size_t longest_whole() const { return longest_whole_; }
  /// The note must be 0. It is 0 afterwards unless the outcome is `some`.
  Transfer write(std::string_view bytes, const SharedMemory& memory) const;

 private:
  NotedOutput(HandedStream stream, HandedStream stage_out, HandedStream stage_in, size_t longest_whole)
      : stream_(std::move(stream)),
        stage_out_(std::move(stage_out)),
        stage_in_(std::move(stage_in)),
        longest_whole_(longest_whole) {}
  Transfer send(std::string_view bytes, const SharedMemory& memory) const;
  Transfer move(std::string_view bytes, const SharedMemory& memory) const;
  HandedStream stream_, stage_out_, stage_in_;
  size_t longest_whole_;
};

}  // namespace cru

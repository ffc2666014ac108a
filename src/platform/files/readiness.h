#pragma once
/// Readiness: waiting until one of several descriptors has something for us. For programs without a loop,
/// which have nothing else to do meanwhile; with one it is Loop::watch.
#include <optional>
#include <span>

#include "base/time.h"

namespace cru {

/// One that is waited for, and what was found.
struct Awaited {
  int fd = -1;  ///< none if negative
  bool to_read = true;
  bool to_write = false;
  bool is_ready = false;     ///< in any way, its end and its failure included
  bool is_readable = false;  ///< something can be read
  bool is_broken = false;    ///< the other end is gone, or it is no descriptor
};

enum class Waited { ready, late, interrupted };

/// Waits until one of them is ready, for ever without a `limit`. `interrupted`: a signal came first.
Waited wait_ready(std::span<Awaited> descriptors, std::optional<Duration> limit = {});
/// The same for one. True if it is ready to be read, which its end is too.
bool wait_readable(int fd, std::optional<Duration> limit = {});
/// The same to write. True if it is ready.
bool wait_writable(int fd, std::optional<Duration> limit = {});

}  // namespace cru

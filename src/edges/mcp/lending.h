#pragma once
/// Lending: hands the host's streams to the daemon, and finds what the daemon has left of what it read
/// (decision 0028). While they are lent, `cru mcp` reads nothing from the host.
#include <optional>
#include <string>

#include "edges/mcp/shared_lines.h"
#include "platform/files/fd.h"
#include "platform/files/handed_stream.h"

namespace cru::mcp {

class Lending {
 public:
  /// A new connection, of which nothing is known yet.
  void reset();
  /// The daemon takes streams.
  void allow() { is_allowed_ = true; }
  void forbid() { is_allowed_ = false; }
  /// Whether the line that the host sent last is one after which it is worth while.
  void set_wanted(bool wanted) { is_wanted_ = wanted; }

  bool is_lent() const { return is_lent_; }
  bool is_due() const { return is_allowed_ && is_wanted_ && !is_lent_; }
  /// The daemon numbers its lines from `first` on. Nothing is lent where the system refuses.
  void lend(const Fd& socket, uint64_t first);
  struct Returned {
    SharedLines::Found found;
    std::string unwritten;  ///< whole lines, which the daemon was about to write when it died
  };
  Returned take_back();

  /// A line of the daemon's that is to be written to the host, or the number of one without an answer.
  void count_line(std::optional<uint64_t> number);
  /// Everything is written: what the daemon is to be told, if anything.
  std::string written();
  bool used_tools() const { return lines_ && lines_->used_tools(); }

 private:
  std::optional<SharedLines> lines_;
  Pipe stage_;  ///< see NotedOutput
  bool is_allowed_ = false, is_wanted_ = false, is_lent_ = false;
  uint64_t counted_ = 0, told_ = 0;
};

}  // namespace cru::mcp

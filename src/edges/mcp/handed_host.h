#pragma once
/// HandedHost: the standard streams of a `cru mcp`, which it has handed to the daemon: requests are read from
/// the host and answers written to it without another process on the way. Decision 0028 says why nothing is
/// lost, and nothing done twice, when the daemon dies meanwhile.
///
/// It can be handed back at any time; then `cru mcp` passes on lines, until it hands over again.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edges/mcp/shared_lines.h"
#include "platform/files/handed_stream.h"
#include "platform/loop/loop.h"

namespace cru::mcp {

class HandedHost {
 public:
  /// Standard input, standard output, the memory and the two ends of the stage (NotedOutput), in this order.
  /// Null, and some of them left in `handed`, if they are not such. Never waits.
  static std::unique_ptr<HandedHost> accept(Loop& loop, std::vector<Fd>& handed);

  /// It is ours, and the next line has this number.
  void begin(uint64_t first);
  bool is_ours() const { return is_ours_; }
  /// Nothing more is read or written. Lines that are here are still to be taken.
  void give_back();

  LineIntake& lines() { return intake_; }
  enum Reading { some, later, over };
  /// Reads once what is there. `over`: it is at its end or there is no room, and it should be given back.
  Reading read();
  Watch& watch() { return *watch_; }

  /// A message to the host; the answer to the line with this number, if it is one.
  struct Message {
    std::optional<uint64_t> number;
    std::string text;
  };
  /// Whether it can be written in one piece.
  bool takes(const std::string& text) const { return text.size() < out_.longest_whole(); }
  void add(Message message);
  bool has_unwritten() const { return !messages_.empty(); }
  /// Writes what was added, as far as that goes without waiting. What is left is somebody else's to write.
  std::vector<Message> flush();

 private:
  HandedHost(Loop& loop, HandedStream in, NotedOutput out, LineIntake intake)
      : in_(std::move(in)),
        out_(std::move(out)),
        intake_(std::move(intake)),
        watch_(loop.watch(in_.watched())) {}

  HandedStream in_;
  NotedOutput out_;
  LineIntake intake_;
  std::unique_ptr<Watch> watch_;
  bool is_ours_ = false;
  bool write_piece(size_t begin, size_t& end);

  std::vector<Message> messages_;
  std::string piece_;
  std::vector<uint64_t> numbers_;  ///< of the lines that it answers
};

}  // namespace cru::mcp

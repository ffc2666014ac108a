#pragma once
/// Shared lines: what the daemon has read from the host of `cru mcp`, in memory that both map. The daemon
/// reads straight into it, so that nothing that was taken from the host is lost when the daemon dies: `cru
/// mcp` finds the lines there, with their numbers, and which of them are answered.
///
/// The lines are numbered one after the other, empty ones too. One that is answered begins with a byte that
/// no message begins with. Everything behind the lines is zero: bytes that were read a moment before a death,
/// whose count nobody has noted, end at the last one that is not.
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/files/shared_memory.h"

namespace cru::mcp {

struct SharedLayout {
  static constexpr size_t most_bytes = 256u << 10;
  /// No read is longer, so that the end of one that was not noted need not be looked for further away.
  static constexpr size_t bytes_a_read = 16u << 10;

  static constexpr size_t most_staged = 64;

  std::atomic<uint32_t> note;  ///< see NotedOutput: whether the answers to the staged lines are written
  std::atomic<uint32_t> staged_count;  ///< of `staged`
  std::atomic<uint64_t> staged[most_staged];
  std::atomic<uint64_t> first;     ///< the number of the first line
  std::atomic<uint64_t> restarts;  ///< not zero: nothing here counts, and this is the first number
  std::atomic<uint64_t> length;    ///< of `bytes`, as far as it is noted
  std::atomic<uint32_t> used_tools;
  char bytes[most_bytes];
};

/// The side of `cru mcp`.
class SharedLines {
 public:
  /// None where the system has no such memory.
  static std::optional<SharedLines> create();
  int fd() const { return memory_.fd(); }

  /// From here on it is the daemon's, and whatever is in it counts no more.
  void begin(uint64_t first);
  /// The daemon has given us the answer to pass on.
  void mark_answered(uint64_t number);
  bool used_tools() const { return layout().used_tools != 0; }

  struct Line {
    uint64_t number;
    std::string text;  ///< without its end
    bool is_answered;
  };
  struct Found {
    std::vector<Line> lines;
    uint64_t next;     ///< the number after the last
    std::string rest;  ///< of a line whose end is still to come
  };
  /// What the daemon has left, which reads no more. `stage_is_full`: its last answers are there, and are
  /// still to be written.
  Found find(bool stage_is_full) const;

 private:
  explicit SharedLines(SharedMemory memory) : memory_(std::move(memory)) {}
  SharedLayout& layout() const { return *static_cast<SharedLayout*>(memory_.data()); }
  SharedMemory memory_;
  std::set<uint64_t> answered_;
};

/// The daemon's side. Believes nothing that it finds in the memory: it reads only what it has just had the
/// system write there, once.
class LineIntake {
 public:
  /// None, and `handed` untouched, if it is not what `SharedLines` sends.
  static std::optional<LineIntake> accept(Fd& handed);

  void begin(uint64_t first);
  /// Where to read to next; empty if there is no room.
  std::span<char> room();
  /// So many bytes were read to it.
  void add(size_t bytes);

  struct Line {
    uint64_t number;
    std::string_view text;  ///< until the next `add` or `renew`
  };
  /// The next that has its end.
  std::optional<Line> take();
  bool has_line();
  bool is_empty() const { return text_.empty(); }

  bool holds(uint64_t number) const { return number >= first_ && number - first_ < lines_.size(); }
  /// The host has its answer, or there is none.
  void mark_answered(uint64_t number);
  /// Until `unstage`, what is written are the answers to these lines, `most_staged` at most.
  void stage(std::span<const uint64_t> numbers);
  void unstage();
  const SharedMemory& memory() const { return memory_; }
  /// `cru mcp` will be given the answer, and knows it by itself.
  void count_answered() { ++answered_; }
  void mark_used_tools();

  /// Every line is whole, taken and answered.
  bool is_done() const { return answered_ == lines_.size() && begin_ == text_.size(); }
  /// Makes room, once everything is done.
  void renew() { begin(first_ + lines_.size()); }
  /// The part of a line that is here is left to `cru mcp`.
  void drop_rest();

 private:
  explicit LineIntake(SharedMemory memory) : memory_(std::move(memory)) {}
  SharedLayout& layout() const { return *static_cast<SharedLayout*>(memory_.data()); }

  SharedMemory memory_;
  uint64_t first_ = 0;
  std::vector<uint32_t> lines_;  ///< where each that was taken begins
  size_t answered_ = 0;
  size_t length_ = 0;              ///< of what is in the memory
  std::string text_;               ///< a copy of it, which nobody changes
  size_t begin_ = 0, looked_ = 0;  ///< of the next line; searched for its end so far
  bool used_tools_ = false;
};

}  // namespace cru::mcp

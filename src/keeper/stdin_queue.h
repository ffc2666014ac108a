#pragma once
/// Stdin queue: what waits to be written to a run's input, each piece delivered once. Holds at most 1 MiB and
/// refuses the rest; owns no descriptor.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cru {

/// Who asked, and is told when the bytes are in the pipe.
struct Asker {
  uint64_t connection = 0;
  int64_t request = 0;
};

struct Delivery {
  std::string id, data;
  bool eof = false;  ///< nothing may follow: the input is closed after it
  Asker asker;
};

class StdinQueue {
 public:
  enum class Offer : uint8_t { queued, done_before, closed, full };
  enum class Drain : uint8_t { empty, blocked, broken };

  /// Queues a delivery; one that waits already only gets its new asker.
  Offer offer(Delivery delivery);
  /// Writes to `fd` until it is full. Finished deliveries are appended to `done`.
  Drain drain(int fd, std::vector<Delivery>& done);
  /// Gives up on everything that waits, and refuses more.
  std::vector<Delivery> close();

  /// Whether a delivery with this id waits, or was written, as far as that is remembered.
  bool has_taken(std::string_view id) const;
  /// The ids of what was written, the last 64.
  const std::vector<std::string>& delivered() const { return delivered_; }
  bool empty() const { return waiting_.empty(); }

 private:
  static constexpr size_t max_waiting = 1 << 20, max_remembered = 64;
  std::vector<Delivery> waiting_;
  size_t sent_ = 0, bytes_ = 0;  ///< of the first one; of all
  std::vector<std::string> delivered_;
  bool closed_ = false;
};

}  // namespace cru

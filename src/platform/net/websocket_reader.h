#pragma once
/// FrameReader: what a client's bytes say, as messages and as what must be answered. wslay does the reading;
/// its memory is held only in the middle of a message, so that an idle client costs none. No I/O.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru::ws {

/// How a connection ends.
struct Goodbye {
  int code = 1005;  ///< 1005: the client gave none
  std::string reason = {};
  bool by_client = false;  ///< else it broke a rule, and `answer` tells it which
};

struct Heard {
  std::vector<std::string> messages;
  std::string answer;  ///< frames to be sent: pongs, and the close
  std::optional<Goodbye> goodbye;
};

/// Errors: cannot_execute naming the library to install; without it no reader may be made.
Result<> reading_is_possible();

class FrameReader {
 public:
  explicit FrameReader(size_t max_message_bytes);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;

  /// The same for the same bytes, however they are cut. After a goodbye nothing is heard any more.
  Heard read(std::string_view bytes);
  /// Nothing of a frame or message is waiting for its rest.
  bool is_idle() const { return !state_; }
  bool is_over() const { return is_over_; }  ///< there was a goodbye

 private:
  struct State;
  const size_t max_message_bytes_;
  std::unique_ptr<State> state_;
  bool is_over_ = false;
};

/// Header and payload of a frame as a server sends it. Opcodes: 1 text, 8 close, 9 ping, 10 pong.
std::string make_frame(int opcode, std::string_view payload);
/// A close frame; the reason is cut to what one holds.
std::string close_frame(int code, std::string_view reason);

}  // namespace cru::ws

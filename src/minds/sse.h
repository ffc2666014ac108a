#pragma once
/// Server-sent events, read from bytes as they come. Rules only.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cru::minds {

struct SseEvent {
  std::string type;  ///< empty if the stream names none
  std::string data;
};

class SseParser {
 public:
  static constexpr size_t max_event_bytes = 4u << 20;
  /// The events that end within `bytes`. Errors: too_large for an event over 4 MiB; then the stream is of no
  /// more use.
  Result<std::vector<SseEvent>> take(std::string_view bytes);

 private:
  void end_line(std::vector<SseEvent>& events);
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_return_ = false;  ///< a line end of \r\n is one
};

}  // namespace cru::minds

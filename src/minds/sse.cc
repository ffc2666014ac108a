#include "minds/sse.h"

namespace cru::minds {

Result<std::vector<SseEvent>> SseParser::take(std::string_view bytes) {
  std::vector<SseEvent> events;
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    auto end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (line_.size() + event_.data.size() > max_event_bytes)
      return fail(Code::too_large, "an event of the stream is larger than 4 MiB");
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    end_line(events);
    bytes.remove_prefix(end + 1);
  }
  return events;
}

void SseParser::end_line(std::vector<SseEvent>& events) {
  auto line = std::exchange(line_, {});
  if (line.empty()) {
    if (has_data_) events.push_back(std::move(event_));
    event_ = {};
    has_data_ = false;
    return;
  }
  auto colon = line.find(':');
  auto field = std::string_view(line).substr(0, colon);
  auto value = colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.type = value;
  if (field != "data") return;  // id, retry, comments: nothing to us
  if (has_data_) event_.data += '\n';
  event_.data += value;
  has_data_ = true;
}

}  // namespace cru::minds

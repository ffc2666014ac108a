// A stream has the same events however its bytes are cut.
#include "minds/sse.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

std::vector<minds::SseEvent> read(std::string_view bytes, size_t seed) {
  minds::SseParser parser;
  std::vector<minds::SseEvent> events;
  while (!bytes.empty()) {
    // A seed of 0 takes all at once; other pieces are of 1 to 16 bytes.
    seed = seed * 6364136223846793005u + (seed ? 1442695040888963407u : 0);
    auto piece = bytes.substr(0, seed ? 1 + (seed >> 60) : bytes.size());
    auto taken = parser.take(piece);
    require(taken.has_value(), "a short stream is no trouble");
    for (auto& event : *taken) events.push_back(std::move(event));
    bytes.remove_prefix(piece.size());
  }
  return events;
}

}  // namespace

void check(std::string_view input) {
  auto whole = read(input, 0);
  for (size_t seed = 1; seed <= 3; ++seed) {
    auto cut = read(input, seed);
    require(cut.size() == whole.size(), "as many events");
    for (size_t at = 0; at < cut.size(); ++at)
      require(cut[at].type == whole[at].type && cut[at].data == whole[at].data, "the same events");
  }
  for (const auto& event : whole) {
    require(event.type.find_first_of("\r\n") == std::string::npos, "a type is one line");
    require(event.data.find('\r') == std::string::npos, "a line's end is \\n");
  }
}

}  // namespace cru::fuzz

// A client's frames say the same however their bytes are cut; what is heard is UTF-8 and bounded, and memory
// is held only in the middle of something.
#include "platform/net/websocket_reader.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

constexpr size_t longest = 512;

struct All {
  std::vector<std::string> messages;
  std::string answer;
  std::optional<ws::Goodbye> goodbye;
};

All read(std::string_view bytes, size_t seed) {
  ws::FrameReader reader(longest);
  All all;
  while (!bytes.empty()) {
    seed = seed * 6364136223846793005u + (seed ? 1442695040888963407u : 0);
    auto piece = bytes.substr(0, seed ? 1 + (seed >> 60) : bytes.size());
    bytes.remove_prefix(piece.size());
    bool was_over = reader.is_over();
    auto heard = reader.read(piece);
    require(!was_over || (heard.messages.empty() && heard.answer.empty() && !heard.goodbye),
            "after a goodbye nothing is heard");
    for (auto& message : heard.messages) all.messages.push_back(std::move(message));
    all.answer += heard.answer;
    if (heard.goodbye) all.goodbye = heard.goodbye;
    require(reader.is_over() == all.goodbye.has_value(), "it is over with a goodbye");
    require(!reader.is_over() || reader.is_idle(), "what is over holds nothing");
  }
  return all;
}

}  // namespace

void check(std::string_view input) {
  static const bool is_possible = ws::reading_is_possible().has_value();
  require(is_possible, "libwslay is installed");
  auto whole = read(input, 0);
  for (const auto& message : whole.messages)
    require(message.size() <= longest && is_utf8(message), "a message is a short text");
  require(whole.answer.size() <= input.size() + 64, "an answer is no longer than the question");
  for (size_t seed = 1; seed <= 3; ++seed) {
    auto cut = read(input, seed);
    require(cut.messages == whole.messages, "the same messages");
    require(cut.answer == whole.answer, "the same answer");
    require(cut.goodbye.has_value() == whole.goodbye.has_value(), "the same end");
    if (!cut.goodbye) continue;
    require(cut.goodbye->code == whole.goodbye->code && cut.goodbye->reason == whole.goodbye->reason &&
                cut.goodbye->by_client == whole.goodbye->by_client,
            "the same goodbye");
    require(is_utf8(cut.goodbye->reason), "a reason is text");
  }
}

}  // namespace cru::fuzz

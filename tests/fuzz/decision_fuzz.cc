// A mind's words: whatever they are, they are a decision within its limits, which is read again as it is
// written.
#include "autonomy/decision.h"

#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace autonomy;

void require_words(std::string_view text, size_t longest) {
  require(text.size() <= longest && is_utf8(text), "words are bounded, in characters");
}

struct Limits {
  void operator()(const Move& move) const {
    require(move.to.col >= 0 && move.to.col < 64 && move.to.row >= 0 && move.to.row < 64,
            "a tile is on a floor");
    require_words(move.reason, max_reason_bytes);
  }
  void operator()(const Wait& wait) const {
    require_words(wait.reason, max_reason_bytes);
    require(!wait.was_unreadable || !wait.reason.empty(), "it is said why words are no decision");
  }
  void operator()(const Speak& speak) const {
    require_words(speak.content, max_content_bytes);
    require_words(speak.recipient, 128);
    require(!speak.content.empty(), "to speak is to say something");
  }
  void operator()(const Collaborate& collaborate) const {
    require_words(collaborate.with, 128);
    require_words(collaborate.proposal, max_content_bytes);
    require(!collaborate.with.empty() && !collaborate.proposal.empty(), "a proposal is one, to somebody");
  }
  void operator()(const CompleteTask& complete) const {
    require_words(complete.task_id, 128);
    require_words(complete.result, max_content_bytes);
    require(!complete.task_id.empty(), "a task has an id");
  }
};

}  // namespace

void check(std::string_view input) {
  auto decision = read_decision(input);
  std::visit(Limits(), decision);
  auto written = to_text(to_json(decision));
  auto again = read_decision(written);
  const auto* wait = std::get_if<Wait>(&again);
  require(!(wait && wait->was_unreadable), "what is written can be read");
  require(to_text(to_json(again)) == written, "what is written is read the same");
  auto fenced = read_decision("Here:\n```json\n" + written + "\n```\nDone.");
  require(to_text(to_json(fenced)) == written, "a fence changes nothing");
}

}  // namespace cru::fuzz

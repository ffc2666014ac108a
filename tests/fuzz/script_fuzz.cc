// A script that is read answers some turns, each of its replies once unless it repeats, the same each time.
#include "minds/script.h"

#include <algorithm>

#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace minds;

void converse(const Script& script) {
  Request request;
  request.agent = "explorer";
  request.messages.push_back(
      {.role = Message::Role::user, .text = "find the bug", .uses = {}, .results = {}});
  for (int turn = 0; turn < 4; ++turn) {
    auto reply = next_reply(script, request, script.seed);
    auto again = next_reply(script, request, script.seed);
    require(reply.has_value() == again.has_value(), "the same each time");
    if (!reply) return require(failure_type(reply.error()) == "script_failed", "nothing fits");
    require(reply->say == again->say && reply->chunk > 0, "the same each time, in pieces");
    require(reply->usage.input >= 0 && reply->usage.output >= 0, "nobody spends less than nothing");
    Message answer{.role = Message::Role::user, .text = {}, .uses = {}, .results = {}};
    for (const auto& use : reply->tools) {
      require(!use.id.empty() && !use.name.empty(), "a use has a name");
      answer.results.push_back({use.id, "done", false});
    }
    if (reply->tools.empty()) answer.text = reply->say;
    request.messages.push_back(
        {.role = Message::Role::assistant, .text = reply->say, .uses = reply->tools, .results = {}});
    request.messages.push_back(std::move(answer));
  }
}

}  // namespace

void check(std::string_view input) {
  auto script = parse_script(input);
  if (!script) {
    require(std::atoi(script.error().message.c_str()) >= 1, "an error begins with its line");
  } else {
    require(!script->replies.empty() || script->otherwise, "a script has a reply");
    converse(*script);
  }
  converse(builtin_script());
  auto words = pieces(input, '\n', 2);
  require(matches_glob("*", input), "a star matches all");
  require(!matches_glob(words[0], words.back()) || matches_glob("*" + std::string(words[0]), words.back()),
          "a star in front may match nothing");
}

}  // namespace cru::fuzz

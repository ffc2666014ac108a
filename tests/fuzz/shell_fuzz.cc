// Shell text: every word is where it says, what is nested comes before, and reading stays linear. A guardrail
// looks at anything, and what it finds can be told.
#include "base/shell_words.h"

#include "fuzz.h"
#include "guardrails/guardrail.h"
#include "guardrails/guardrail_paths.h"

namespace cru::fuzz {

using namespace coordination;

void check(std::string_view input) {
  auto script = read_script(input);
  require(script.steps <= 200 * (input.size() + 1), "reading is linear");
  for (size_t at = 0; at < script.commands.size(); ++at) {
    const auto& command = script.commands[at];
    require(command.begin <= command.end && command.end <= input.size(), "a command is in the text");
    require(command.pipe_from == ShellCommand::none || command.pipe_from < script.commands.size(),
            "a pipe comes from a command");
    for (auto [first, last] : command.substitutions)
      require(first <= last && last <= at, "what is nested comes before");
    for (const auto* words : {&command.words, &command.writes, &command.reads})
      for (const auto& word : *words)
        require(word.begin <= word.end && word.end <= input.size() && word.text.size() <= input.size(),
                "a word is in the text");
  }

  static const std::vector<GuardrailRule> own = {{.name = "deploy", .pattern = "make ... deploy-*"},
                                                 {.name = "env", .paths = {"**/.env*"}}};
  std::vector<std::string> paths = {std::string(pieces(input, '\n', 2)[0])};
  size_t steps = 0;
  auto found = check_guardrails(input, paths, "/home/me/project", own, &steps);
  require(found.size() <= 100, "there are at most 100 violations");
  require(steps <= 2000 * (input.size() + 10), "looking is linear");
  for (const auto& violation : found) {
    require(!violation.pattern_name.empty() && !violation.severity.empty(), "a violation has a name");
    require(!is_utf8(input) || is_utf8(violation.matched_text), "what is shown is whole characters");
  }
  place_of(input, "src", "/home/me/project");
  folder_after(input, "src");
  secret_in(input);
  if (auto rules = parse_yaml(input))
    if (auto read = read_guardrails(*rules, "guardrails.yaml"); !read) require_readable(read.error());
}

}  // namespace cru::fuzz

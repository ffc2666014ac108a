// A definition is there or an error is; every problem has a line of the file; what was read reads the same
// when it is put together again.
#include "definitions/definition.h"

#include <algorithm>

#include "fuzz.h"

namespace cru::fuzz {

using definitions::parse_definition, definitions::Source;

void check(std::string_view input) {
  auto parsed = parse_definition(input, "agents/a.md", "a", Source::project);
  auto lines = 2 + std::ranges::count(input, '\n');
  bool has_error = false;
  for (const auto& problem : parsed.problems) {
    has_error |= problem.is_error;
    require(problem.line >= 1 && problem.line <= lines, "a problem is on a line of the file");
    auto line = definitions::to_line(problem);
    require(line.find('\n') == std::string::npos && is_utf8(line), "a problem is one line of text");
    require(parse_json(to_text(definitions::to_json(problem))).has_value(), "a problem can be told as JSON");
  }
  require(std::ranges::is_sorted(parsed.problems), "problems are in order");
  require(parsed.definition.has_value() != has_error, "there is a definition, or an error");
  auto made = definitions::to_agent_name(input);
  require(made.empty() || definitions::is_agent_name(made), "a suggested name is a name");
  if (!parsed.definition) return;

  const auto& found = *parsed.definition;
  require(definitions::is_agent_name(found.name) && !found.prompt.empty(), "it has a name and a prompt");
  auto told = parse_json(to_text(definitions::to_json(found, true)));
  require(told.has_value(), "a definition can be told as JSON");
  auto again = parse_definition("---\n" + found.frontmatter + "---\n" + found.prompt, "agents/a.md", "a",
                                Source::project);
  require(again.definition == parsed.definition, "it reads the same again");
}

}  // namespace cru::fuzz

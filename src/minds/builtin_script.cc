#include "minds/builtin_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
namespace cru::minds {
namespace {

constexpr size_t max_query = 2048;
constexpr size_t max_agents = 4;
constexpr size_t max_quoted = 600;

struct Trade {
  std::string_view stem, agent;
};
// The agents that come with the program, by the words that call for them.
constexpr std::array trades = {
    Trade{"review", "code-reviewer"}, Trade{"test", "test-writer"}, Trade{"document", "documentation-writer"},
    Trade{"find", "explorer"},        Trade{"where", "explorer"},   Trade{"explore", "explorer"}};

constexpr std::string_view introduction =
    "I am a script, not a model: I follow fixed rules. I can delegate work to agents that your message "
    "names, and search the project's notes. To use a model, set ANTHROPIC_API_KEY or install the claude "
    "program; see `cru doctor`.";

const ToolSpec* find_tool(const Request& request, std::string_view name) {
  auto tool = std::ranges::find(request.tools, name, &ToolSpec::name);
  return tool == request.tools.end() ? nullptr : &*tool;
}

/// The agents that spawn_agent offers, as its schema says; empty if it does not.
std::vector<std::string> offered_agents(const ToolSpec& spawn) {
  std::vector<std::string> names;
  const auto* properties = object_at(spawn.input_schema, "properties");
  const auto* agent = properties ? object_at(*properties, "agent") : nullptr;
  const auto* choices = agent ? array_at(*agent, "enum") : nullptr;
  if (!choices) return names;
  for (const auto& choice : *choices)
    if (choice.is_string()) names.emplace_back(choice.get_string());
  return names;
}

/// Where `stem` begins a word of `text`; npos if nowhere.
size_t find_word(std::string_view text, std::string_view stem) {
  for (size_t at = text.find(stem); at != std::string_view::npos; at = text.find(stem, at + 1)) {
    auto before = at == 0 ? ' ' : text[at - 1];
    bool in_word = (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9') || before == '-';
    if (!in_word) return at;
  }
  return std::string_view::npos;
}

/// The agents that the words call for, in the order in which they are called.
std::vector<std::string> called_agents(const ToolSpec& spawn, std::string_view words) {
  auto offered = offered_agents(spawn);
  auto text = to_lower(words);
  std::vector<std::pair<size_t, std::string>> called;
  auto call = [&](std::string_view stem, std::string_view agent) {
    auto at = find_word(text, stem);
    bool is_known = offered.empty() || std::ranges::find(offered, agent) != offered.end();
    bool is_called =
        std::ranges::find(called, agent, &std::pair<size_t, std::string>::second) != called.end();
    if (at != std::string_view::npos && is_known && !is_called) called.emplace_back(at, agent);
  };
  for (const auto& agent : offered) call(to_lower(agent), agent);
  for (const auto& trade : trades) call(trade.stem, trade.agent);
  std::ranges::sort(called);
  std::vector<std::string> names;
  for (auto& [at, agent] : called)
    if (names.size() < max_agents) names.push_back(std::move(agent));
  return names;
}

/// What has happened since the user last spoke.
struct Turn {
  std::string_view words;
  std::vector<const ToolUse*> uses;
  std::vector<const ToolResult*> results;  ///< of `uses`; null where there is none

  /// The result of the last use of this tool; null if there is none.
  const ToolResult* result_of(std::string_view tool) const {
    for (size_t at = uses.size(); at-- > 0;)
      if (uses[at]->name == tool) return results[at];
    return nullptr;
  }
  bool has_used(std::string_view tool) const {
    return std::ranges::any_of(uses, [&](const ToolUse* use) { return use->name == tool; });
  }
};

Turn current_turn(const std::vector<Message>& messages) {
  Turn turn;
  for (const auto& message : messages) {
    if (message.role == Message::Role::user && !message.text.empty()) turn = {message.text, {}, {}};
    for (const auto& use : message.uses) {
      turn.uses.push_back(&use);
      turn.results.push_back(nullptr);
    }
    for (const auto& result : message.results)
      for (size_t at = 0; at < turn.uses.size(); ++at)
        if (turn.uses[at]->id == result.id) turn.results[at] = &result;
  }
  return turn;
}

ScriptedReply say(std::string text) {
  ScriptedReply reply;
  reply.say = std::move(text);
  return reply;
}

ScriptedReply use(std::string text, std::string tool, json::object input) {
  auto reply = say(std::move(text));
  reply.tools.push_back({{}, std::move(tool), std::move(input)});
  return reply;
}

ScriptedReply search(std::string_view words) {
  auto query = cut_with_ellipsis(trim(words), max_query);
  return use("I will search the notes.", "semantic_search", {{"query", query.empty() ? "notes" : query}});
}

struct Hit {
  std::string path, excerpt;
};

/// "PATH:LINE [SCORE] TITLE", the excerpt below, an empty line between two.
std::vector<Hit> hits_in_text(std::string_view text) {
  std::vector<Hit> hits;
  while (!text.empty() && hits.size() < 5) {
    auto end = std::min(text.find("\n\n"), text.size());
    auto block = trim(text.substr(0, end));
    auto head = block.substr(0, block.find('\n'));
    auto score = head.find(" [0.");
    if (score == std::string_view::npos) score = head.find(" [1.");
    auto colon = score == std::string_view::npos ? score : head.rfind(':', score);
    if (colon != std::string_view::npos)
      hits.push_back(
          {std::string(head.substr(0, colon)), cut_with_ellipsis(trim(block.substr(head.size())), 200)});
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return hits;
}

std::vector<Hit> hits_of(const ToolResult* found) {
  std::vector<Hit> hits;
  auto parsed = found && !found->is_error ? parse_json(found->text) : Result<json::value>(nullptr);
  const auto* results = parsed && parsed->is_object() ? array_at(parsed->get_object(), "results") : nullptr;
  if (!results) return found && !found->is_error ? hits_in_text(found->text) : hits;
  for (const auto& item : *results) {
    const auto* hit = item.if_object();
    if (!hit || text_or(*hit, "path").empty() || hits.size() >= 5) continue;
    auto excerpt = text_or(*hit, "excerpt");
    hits.push_back({std::string(text_or(*hit, "path")), cut_with_ellipsis(trim(excerpt), 200)});
  }
  return hits;
}

std::string list_hits(const std::vector<Hit>& hits) {
  std::string text;
  for (const auto& hit : hits)
    text += hit.excerpt.empty() ? fmt::format("- {}\n", hit.path)
                                : fmt::format("- {}: {}\n", hit.path, hit.excerpt);
  return text;
}

/// What an agent found, in a few words.
std::string brief(const ToolResult& result) {
  std::string text = result.text;
  if (auto parsed = parse_json(text); parsed && parsed->is_object())
    for (auto key : {"result", "markdown", "summary", "text", "message"})
      if (auto found = text_or(parsed->get_object(), key); !found.empty()) {
        text = found;
        break;
      }
  auto summary = summary_of(text);
  return cut_with_ellipsis(summary.empty() ? trim(text) : std::string_view(summary), max_quoted);
}

ScriptedReply tell_results(const Turn& turn) {
  std::string text = "## Summary\n\n";
  size_t failed = 0, told = 0;
  std::string parts;
  for (size_t at = 0; at < turn.uses.size(); ++at) {
    const auto* result = turn.results[at];
    if (turn.uses[at]->name != "spawn_agent" || !result) continue;
    auto agent = text_or(turn.uses[at]->input, "agent", "agent");
    ++told;
    if (result->is_error) ++failed;
    parts += fmt::format("- **{}**{}: {}\n", agent, result->is_error ? " failed" : "", brief(*result));
  }
  text += fmt::format("{} agent{} reported{}.\n\n", told, told == 1 ? "" : "s",
                      failed ? fmt::format(", {} of them with an error", failed) : "");
  return say(text + parts);
}

ScriptedReply spawn(const std::vector<std::string>& agents, std::string_view words,
                    const std::string& model) {
  std::string names;
  for (const auto& agent : agents) names += (names.empty() ? "" : ", ") + agent;
  auto reply = say(fmt::format("Delegating to {}.", names));
  for (const auto& agent : agents)
    // Whoever has no model for this one has none for the others.
    reply.tools.push_back({{}, "spawn_agent", {{"agent", agent}, {"task", words}, {"model", model}}});
  return reply;
}

ScriptedReply as_primary(const Request& request, const ToolSpec& spawning, const Turn& turn) {
  if (turn.has_used("spawn_agent")) return tell_results(turn);
  if (turn.uses.empty()) {
    if (auto agents = called_agents(spawning, turn.words); !agents.empty())
      return spawn(agents, turn.words, request.model.name);
    if (find_tool(request, "semantic_search")) return search(turn.words);
    return say(std::string(introduction));
  }
  auto hits = hits_of(turn.result_of("semantic_search"));
  if (hits.empty()) return say("I found nothing about this in the notes. " + std::string(introduction));
  return say(fmt::format("The most relevant notes:\n\n{}", list_hits(hits)));
}

/// The text of a note that was read, as JSON or as it is.
std::string note_text(const ToolResult* read) {
  if (!read || read->is_error) return {};
  auto parsed = parse_json(read->text);
  return cut_with_ellipsis(
      trim(parsed && parsed->is_object() ? text_or(parsed->get_object(), "text") : read->text), max_quoted);
}

ScriptedReply report(const Turn& turn, const std::vector<Hit>& hits) {
  auto task = cut_with_ellipsis(trim(turn.words), 200);
  if (hits.empty())
    return say(
        fmt::format("## Summary\n\nNo note mentions this: {}\n\n## Findings\n\nThe search found nothing. "
                    "(This report comes from a script, not a model.)\n",
                    task));
  auto note = note_text(turn.result_of("read_note"));
  return say(fmt::format(
      "## Summary\n\n{} note{} this; the most relevant is {}.\n\n## Findings\n\nThe task: {}\n\n{}{}\n",
      hits.size(), hits.size() == 1 ? " mentions" : "s mention", hits.front().path, task, list_hits(hits),
      note.empty() ? "" : fmt::format("\n{} starts with:\n\n> {}\n", hits.front().path, note)));
}

ScriptedReply as_subagent(const Request& request, const Turn& turn) {
  if (!turn.has_used("semantic_search") && find_tool(request, "semantic_search")) return search(turn.words);
  auto hits = hits_of(turn.result_of("semantic_search"));
  if (!hits.empty() && !turn.has_used("read_note") && find_tool(request, "read_note"))
    return use("I will read the most relevant note.", "read_note", {{"path", hits.front().path}});
  return report(turn, hits);
}

bool asks_what_i_am(std::string_view words) {
  auto text = to_lower(words);
  return std::ranges::any_of(std::array{"what are you", "who are you", "are you a model", "are you an ai",
                                        "which model", "what model", "are you a script"},
                             [&](const char* question) { return text.find(question) != std::string::npos; });
}

}  // namespace

std::string summary_of(std::string_view markdown) {
  constexpr std::string_view heading = "## Summary";
  size_t at = markdown.starts_with(heading) ? 0 : markdown.find("\n## Summary");
  if (at == std::string_view::npos) return {};
  auto rest = markdown.substr(at + (at == 0 && markdown.starts_with(heading) ? 0 : 1) + heading.size());
  auto end = rest.find("\n#");
  return std::string(trim(rest.substr(0, end)));
}

ScriptedReply builtin_reply(const Request& request) {
  auto turn = current_turn(request.messages);
  if (asks_what_i_am(turn.words)) return say(std::string(introduction));
  const auto* spawning = find_tool(request, "spawn_agent");
  // One of the specialised agents does its work itself, also when a person runs it.
  auto offered = spawning ? offered_agents(*spawning) : std::vector<std::string>();
  if (spawning && std::ranges::find(offered, request.agent) == offered.end())
    return as_primary(request, *spawning, turn);
  return as_subagent(request, turn);
}

}  // namespace cru::minds

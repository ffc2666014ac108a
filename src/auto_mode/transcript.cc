#include "auto_mode/transcript.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr size_t longest_slug = 24;

/// A text as YAML has it in quotes, which is as JSON has it.
std::string in_quotes(std::string_view text) { return to_text(json::value(text)); }

/// Words at the beginning of a line that markdown would take for something else.
std::string as_paragraphs(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (char c : text) {
    if (at_start && (c == '#' || c == '-' || c == '>' || c == '=')) out += '\\';
    at_start = c == '\n';
    out += c;
  }
  return out;
}

}  // namespace

std::string transcript_folder(std::string_view id) { return fmt::format(".crucible/sessions/{}", id); }

std::string conversation_id(Time now, std::string_view topic, uint64_t chance) {
  std::string slug;
  for (char c : to_lower(topic)) {
    if (slug.size() >= longest_slug) break;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      slug += c;
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  while (slug.ends_with('-')) slug.pop_back();
  return fmt::format("{}-auto-{}{}{:06x}", to_rfc3339(now).substr(0, 10), slug, slug.empty() ? "" : "-",
                     chance & 0xffffff);
}

std::string render_transcript(const AutoModeState& state, const std::vector<Line>& lines) {
  std::string out = "---\n";
  auto add = [&](std::string_view key, std::string_view value) {
    out += fmt::format("{}: {}\n", key, value);
  };
  add("session_id", in_quotes(state.id));
  add("title", in_quotes("Conversation: " + state.topic));
  add("type", "auto_mode");
  add("started_at", in_quotes(to_rfc3339(state.started_at)));
  add("ended_at", state.ending ? in_quotes(to_rfc3339(state.ended_at)) : "null");
  add("ended_by", state.ending ? std::string(name(*state.ending)) : "null");
  add("interaction_pattern", name(state.pattern));
  std::string agents;
  for (const auto& member : state.cast) agents += (agents.empty() ? "" : ", ") + in_quotes(member.name);
  add("agents", "[" + agents + "]");
  add("tokens", std::to_string(state.tokens));
  out += fmt::format("---\n\n# {}\n\n{}\n\n## Who takes part\n\n", as_paragraphs(state.topic),
                     as_paragraphs(state.prompt));
  for (const auto& member : state.cast)
    out += fmt::format("- **{}**, {} (`{}`, mind `{}`)\n", member.name, member.role, member.agent_id,
                       member.mind);
  out += "\n## What was said\n";
  for (const auto& line : lines) {
    out += fmt::format("\n### {} ({})\n\n{}\n", line.name, to_rfc3339(line.at).substr(11, 8),
                       as_paragraphs(line.text));
    if (line.agent_id.empty())
      out += "\n*a person*\n";
    else
      out += fmt::format("\n*turn {}, `{}`, {} tokens*\n", line.turn, line.agent_id, line.tokens);
  }
  if (state.ending)
    out += fmt::format("\n## How it ended\n\n{}: {}.\n", name(*state.ending), as_paragraphs(state.detail));
  return out;
}

}  // namespace cru::auto_mode

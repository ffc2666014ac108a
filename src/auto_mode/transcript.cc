#include "auto_mode/transcript.h"

#include <fmt/format.h>

#include "auto_mode/words_as_said.h"
#include "base/json.h"
#include "base/text.h"

namespace cru::auto_mode {
namespace {

constexpr size_t longest_slug = 24;

/// A text as YAML has it in quotes, which is as JSON has it.
std::string in_quotes(std::string_view text) { return to_text(json::value(text)); }

std::string link_to(std::string_view id) { return id.empty() ? std::string() : fmt::format("[[{}]]", id); }

/// In the frontmatter.
std::string front_link(std::string_view id) { return id.empty() ? "null" : in_quotes(link_to(id)); }
/// In the list of links.
std::string shown_link(std::string_view id) { return id.empty() ? "none" : link_to(id); }

/// Who it is, with a link to the file that describes it where there is one in the project.
std::string who(const CastMember& member) {
  auto name = fmt::format("**{}**", as_one_line(member.name));
  const auto& file = member.definition;
  bool is_in_project = !file.empty() && !file.starts_with('~') && !file.starts_with("builtin:");
  // The characters that end such a link are in no path of ours; one that has them is not linked.
  if (!is_in_project || file.find_first_of("<>\\\r\n") != std::string::npos) return name;
  // From .crucible/conversations to the project's root.
  return fmt::format("[{}](<../../{}>)", name, file);
}

constexpr std::string_view front_names[] = {"previous: ", "next: "};
constexpr std::string_view list_names[] = {"- Previous conversation: ", "- Next conversation: "};

/// `text` with the first line that begins so after `from` ended in another way.
void replace_line(std::string& text, size_t from, std::string_view beginning, std::string_view end) {
  auto at = text.find("\n" + std::string(beginning), from);
  if (at == std::string::npos) return;
  at += 1 + beginning.size();
  text.replace(at, std::min(text.find('\n', at), text.size()) - at, end);
}

}  // namespace

std::string transcript_path(std::string_view id) { return fmt::format("{}/{}.md", transcripts_folder, id); }

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

std::string with_link(std::string_view text, Neighbour which, std::string_view id) {
  std::string out(text);
  auto index = static_cast<size_t>(which);
  auto front_end = out.find("\n---", 3);
  if (!out.starts_with("---\n") || front_end == std::string::npos) return out;
  if (auto at = out.find("\n" + std::string(front_names[index])); at < front_end)
    replace_line(out, 0, front_names[index], front_link(id));
  // No line that was said begins so: the list of links is the last part.
  if (auto links = out.rfind("\n## Links\n"); links != std::string::npos)
    replace_line(out, links, list_names[index], shown_link(id));
  return out;
}

std::string render_transcript(const AutoModeState& state, const std::vector<Line>& lines,
                              std::string_view previous, std::string_view next) {
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
  // Here and not beside the words: who searches the notes looks for what was said.
  out += "messages:\n";
  for (const auto& line : lines)
    if (!line.agent_id.empty())
      out += fmt::format("  - {{turn: {}, agent: {}, tokens: {}}}\n", line.turn, in_quotes(line.agent_id),
                         line.tokens);
  add("previous", front_link(previous));
  add("next", front_link(next));
  out += fmt::format("---\n\n# {}\n", as_one_line(state.topic));
  if (state.prompt != state.topic) out += fmt::format("\n{}\n", as_paragraphs(state.prompt));
  out += "\n## Who takes part\n\n";
  for (const auto& member : state.cast)
    out += fmt::format("- {}, {} (live agent `{}`, mind `{}`)\n", who(member), as_one_line(member.role),
                       member.agent_id, as_one_line(member.mind));
  for (const auto& person : state.people)
    out += fmt::format("- **{}**, a person\n", as_one_line(person.name));
  out += "\n## What was said\n";
  for (const auto& line : lines) {
    out += fmt::format("\n### {} ({}{})\n\n{}\n", as_one_line(line.name),
                       line.agent_id.empty() ? "a person, " : "", to_rfc3339(line.at).substr(11, 8),
                       as_paragraphs(line.text));
  }
  if (state.ending) out += fmt::format("\n## How it ended\n\n{}\n", as_paragraphs(how_it_ended(state)));
  out += "\n## Links\n\n";
  out += fmt::format("{}{}\n{}{}\n", list_names[0], shown_link(previous), list_names[1], shown_link(next));
  return out;
}

}  // namespace cru::auto_mode

// session.md: rendering it again with nothing new changes nothing; what a person wrote stays; its frontmatter
// is YAML. The first piece of the input is the title, the next what a person added, then come the entries.
#include "base/yaml.h"
#include "crew/chat_files.h"
#include "fuzz.h"

namespace cru::fuzz {
namespace {

using namespace crew;

void require_frontmatter(std::string_view file, std::string_view key, std::string_view value) {
  auto end = file.find("\n---\n", 3);
  require(file.starts_with("---\n") && end != std::string_view::npos, "it begins with frontmatter");
  auto fields = parse_yaml(file.substr(4, end - 3));
  require(fields && fields->find(key), "frontmatter is YAML");
  require(fields->find(key)->text == value, "frontmatter says what it should");
}

Entry entry_of(std::string_view text, int64_t n) {
  Entry entry{.thread = "chat", .n = n, .role = static_cast<Role>(text.empty() ? 0 : text[0] & 3)};
  entry.message = saying(std::string(text));
  if (entry.role == Role::assistant) entry.message.uses.push_back({"use", "read_file", {{"path", text}}});
  if (entry.role == Role::tool) entry.message.results.push_back({"use", std::string(text), false});
  return entry;
}

}  // namespace

void check(std::string_view input) {
  auto parts = pieces(input, '\x1f', 12);
  Chat chat;
  chat.id = "2026-11-16-a";
  chat.title = parts[0];
  chat.agent = "explorer";
  Subagent child{.task_id = "3f2a1c", .chat_id = chat.id, .parent = "chat", .parent_use = "use"};
  child.agent = "reader";
  child.status = Status::completed;
  child.result = child.task = parts.back();
  child.failure.message = child.failure.type = parts[0];
  std::vector<Entry> entries;
  for (size_t at = 2; at < parts.size(); ++at) entries.push_back(entry_of(parts[at], int64_t(at) - 1));

  auto file = render_session(chat, entries, {child}, "");
  require_frontmatter(file, "entries", std::to_string(entries.size()));
  require(entries_in(file) == int64_t(entries.size()), "a file says how far it has come");
  require(render_session(chat, entries, {child}, file) == file, "nothing new changes nothing");

  auto written = file + std::string(parts.size() > 1 ? parts[1] : "");
  entries.push_back(entry_of(parts[0], int64_t(entries.size()) + 1));
  auto grown = render_session(chat, entries, {child}, written);
  auto body = written.substr(written.find("\n---\n", 3) + 5);
  require(grown.find(body) != std::string::npos, "what a person wrote stays");
  require(entries_in(grown) == int64_t(entries.size()), "a new entry is added");
  // Whatever stands in the file, a person's own text is kept.
  auto strange = render_session(chat, {}, {}, input);
  require(render_session(chat, {}, {}, strange) == strange, "a strange file is mended once");

  require_frontmatter(render_subagent(child, entries), "task_id", child.task_id);
  require(render_result(child, 600).size() <= 900, "what a parent gets is bounded");
  require(parse_json(to_lines(render_metadata(chat, {child}, 0))).has_value() || !is_utf8(input),
          "metadata is JSON");
}

}  // namespace cru::fuzz

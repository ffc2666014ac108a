#include "notes/note_reading.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "notes/note_text.h"

namespace cru::notes {
namespace {

constexpr size_t title_bytes = 8192;  ///< how much of a file is read for its title

struct Wanted {
  std::string name, heading;
};

/// `[[folder/name#heading|shown]]`, or any part of it.
Wanted parse(std::string_view text) {
  if (text.starts_with("[[") && text.ends_with("]]")) {
    text = text.substr(2, text.size() - 4);
    text = text.substr(0, text.find('|'));
  }
  auto hash = text.find('#');
  Wanted wanted{std::string(text.substr(0, hash)), {}};
  if (hash != std::string_view::npos) wanted.heading = text.substr(hash + 1);
  return wanted;
}

bool is_same(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::strncasecmp(one.data(), other.data(), one.size()) == 0;
}

/// Whether the link `name` can mean the note at `path`: its end, without the file's ending.
bool is_meant(std::string_view name, std::string_view path) {
  if (is_markdown(path)) path = path.substr(0, path.rfind('.'));
  if (is_markdown(name)) name = name.substr(0, name.rfind('.'));
  if (path.size() == name.size()) return is_same(name, path);
  return path.size() > name.size() && path[path.size() - name.size() - 1] == '/' &&
         is_same(name, path.substr(path.size() - name.size()));
}

Error not_found(const std::string& name, const std::vector<Stamp>& notes) {
  std::vector<std::string> names;
  for (const auto& note : notes) {
    names.emplace_back(name_of(note.path));
    if (names.size() == 20'000) break;
  }
  auto near = closest(name_of(name), names);
  std::string hint = "list notes with: cru notes list";
  for (const auto& note : notes)
    if (!near.empty() && name_of(note.path) == near) {
      hint = fmt::format("did you mean {}?", note.path);
      break;
    }
  return {Code::not_found, fmt::format("note not found: \"{}\"", valid_utf8(name)), "path", hint};
}

/// The path of the note that `name` means.
Result<std::string> find_named(const NoteFiles& files, const std::string& name, size_t most) {
  auto walk = files.walk("", most);
  if (!walk) return fail(walk.error());
  std::vector<std::string> meant;
  for (const auto& note : walk->notes)
    if (is_meant(name, note.path)) meant.push_back(note.path);
  if (meant.empty()) return fail(not_found(name, walk->notes));
  // The whole path, in the same case, is not in doubt.
  for (const auto& path : meant)
    if (path == name || path.substr(0, path.rfind('.')) == name) return path;
  if (meant.size() == 1) return meant[0];
  if (meant.size() > 10) meant.resize(10);
  Error error{Code::conflict, fmt::format("\"{}\" matches several notes: {}", name, fmt::join(meant, ", ")),
              "path", "use the path of the note"};
  error.details = to_text(json::object{{"candidates", json::value_from(meant)}});
  return fail(std::move(error));
}

Result<std::string> find_path(const NoteFiles& files, const std::string& name, size_t most) {
  auto path = files.inside(name);
  if (!path) return fail(path.error());
  if (path->empty()) return fail(Code::invalid_argument, "a note path is required", "path");
  if (!is_markdown(*path)) {
    auto dot = path->rfind('.');
    // A dot may be part of a name (`v1.2`); an ending of its own that is there is another kind of file.
    bool is_other =
        dot != std::string::npos && dot > path->rfind('/') + 1 && files.read(*path, 0, 0).has_value();
    if (is_other)
      return fail(Code::invalid_argument, fmt::format("\"{}\" is not a markdown file", *path), "path",
                  "notes end in .md or .markdown");
    return find_named(files, *path, most);
  }
  auto there = files.read(*path, 0, 0);
  if (!there && there.error().code == Code::not_found) return find_named(files, *path, most);
  if (!there) return fail(there.error());
  if (!may_be_note(*path))
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is in a folder that is excluded from the notes", *path), "path");
  return *path;
}

Result<Section> find_section(const NoteFiles& files, const std::string& path, const std::string& heading,
                             size_t largest) {
  auto part = files.read(path, 0, largest);
  if (!part) return fail(part.error());
  auto sections = sections_of(part->bytes);
  for (const auto& section : sections)
    if (is_same(section.heading, heading)) return section;
  std::vector<std::string> headings;
  for (const auto& section : sections) headings.push_back(section.heading);
  auto near = closest(heading, headings);
  return fail(Code::not_found, fmt::format("\"{}\" has no heading \"{}\"", path, valid_utf8(heading)), "path",
              near.empty() ? "" : fmt::format("did you mean #{}?", near));
}

}  // namespace

Result<Note> read_note(const Options& options, const std::string& wanted, int64_t offset, int64_t limit) {
  NoteFiles files(options.root);
  auto [name, heading] = parse(wanted);
  auto path = find_path(files, name, options.max_notes);
  if (!path) return fail(path.error());
  int64_t begin = std::max<int64_t>(offset, 0), end = std::numeric_limits<int64_t>::max();
  if (!heading.empty()) {
    auto section = find_section(files, *path, heading, options.max_note_bytes);
    if (!section) return fail(section.error());
    begin = std::max(begin, static_cast<int64_t>(section->begin));
    end = static_cast<int64_t>(section->end);
  }
  // A few bytes more, to see whether the last character is whole.
  auto most = std::clamp<int64_t>(limit, 4, 1 << 20);
  auto part =
      files.read(*path, begin, static_cast<size_t>(std::min(most + 4, std::max<int64_t>(end - begin, 0))));
  auto top = files.read(*path, 0, title_bytes);
  if (!part || !top) return fail(part ? top.error() : part.error());
  end = std::min(end, part->stamp.bytes);
  std::string_view bytes = part->bytes;
  auto skipped = begin > 0 && offset > 0 ? bytes.size() - skip_partial_character(bytes).size() : 0;
  bytes.remove_prefix(skipped);
  bytes = bytes.substr(0, character_start(bytes, static_cast<size_t>(most)));
  auto next = begin + static_cast<int64_t>(skipped + bytes.size());
  return Note{.path = *path,
              .title = title_of(top->bytes, *path),
              .text = valid_utf8(bytes),
              .bytes = part->stamp.bytes,
              .truncated = next < end,
              .next_offset = next,
              .changed_at = part->stamp.changed_at()};
}

Result<NoteList> list_notes(const Options& options, const std::string& folder, const std::string& after,
                            int64_t limit) {
  NoteFiles files(options.root);
  auto below = files.inside(folder);
  if (!below) {
    auto error = below.error();
    error.field = "folder";
    return fail(std::move(error));
  }
  auto walk = files.walk(*below, options.max_notes);
  if (!walk) return fail(walk.error());
  NoteList list;
  auto first = std::upper_bound(walk->notes.begin(), walk->notes.end(), after,
                                [](const std::string& path, const Stamp& note) { return path < note.path; });
  for (auto note = first; note != walk->notes.end(); ++note) {
    if (static_cast<int64_t>(list.notes.size()) >= limit) {
      list.more = true;
      break;
    }
    auto top = files.read(note->path, 0, title_bytes);
    if (!top) continue;  // gone meanwhile
    list.notes.push_back({.path = note->path,
                          .title = title_of(top->bytes, note->path),
                          .text = {},
                          .bytes = note->bytes,
                          .changed_at = note->changed_at()});
  }
  return list;
}

}  // namespace cru::notes

#pragma once
/// Rules of notes as text: which files are notes, what a note is called, how it is cut into pieces that are
/// searched, and which words a text has.
#include <string>
#include <string_view>
#include <vector>

namespace cru::notes {

/// A piece of a note under one heading.
struct Piece {
  std::string heading;  ///< empty before the first one
  int line = 1;         ///< where it begins, from 1
  std::string text;
};

/// Bytes of a section, its heading's line included, up to the next heading of its level or above.
struct Section {
  std::string heading;
  int level = 1;
  size_t begin = 0, end = 0;
};

/// `x.md`, `x.markdown`, in any case.
bool is_markdown(std::string_view name);
/// Transcripts of the conversations of live agents, which everybody may read: the only notes below .crucible.
inline constexpr std::string_view transcripts_folder = ".crucible/conversations";

/// Whether a folder of this name can hold notes: not what tools make (node_modules, build, …), nor what is
/// hidden. Agents and chats below .crucible and .claude are no notes: chats are made from notes, and an agent
/// must not find what its parent talked of.
bool can_hold_notes(std::string_view folder_name);
/// The same of every folder that the relative path goes through; or it is a transcript.
bool may_be_note(std::string_view path);
/// Whether there may be notes in this folder, or below it.
bool may_lead_to_notes(std::string_view folder);

/// The frontmatter's `title` or `name`, else the first heading, else the file's name without its ending.
std::string title_of(std::string_view text, std::string_view path);
/// The file's name without folders and ending.
std::string_view name_of(std::string_view path);

/// At most about 1,500 bytes each and `most` in all; never cut within a character. Frontmatter is left out,
/// but for its description.
std::vector<Piece> split(std::string_view text, size_t most = 4096);
std::vector<Section> sections_of(std::string_view text);

/// The words of a text in lower case, ASCII letters and digits; whatever is beyond ASCII stays as it is.
/// `camelCase` and `snake_case` are also cut into their parts.
std::vector<std::string> words_of(std::string_view text, size_t most = 100'000);
/// Words that say nothing about what a text is about.
bool is_stop_word(std::string_view word);
/// The query as FTS5 reads it: any of its words, stop words left out unless there is nothing else. At
/// most 32.
std::string any_of(const std::vector<std::string>& words);

}  // namespace cru::notes

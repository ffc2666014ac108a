#pragma once
/// Frontmatter: the part of a definition's file between its `---` lines, told apart from the prompt. Rules
/// only.
#include <string>
#include <string_view>

#include "base/yaml.h"

namespace cru::definitions {

inline constexpr size_t max_file_bytes = 256 * 1024;

/// What makes a file no definition at all.
struct Flaw {
  int line = 1;
  std::string reason;
  std::string suggestion;
};

struct Document {
  std::string frontmatter;  ///< without its fences
  std::string prompt;       ///< without empty lines around it
  int prompt_line = 1;      ///< of the file: the first behind the frontmatter
};
/// Tolerates a byte order mark and CRLF. Errors: not UTF-8, a NUL byte, too large, no fences.
std::expected<Document, Flaw> split_document(std::string_view text);

struct Fields {
  YamlNode tree;
  /// Where a plain text holds what YAML takes for structure (`description: Examples: …`), as Claude Code
  /// writes and reads it; 0 if nowhere.
  int lenient_line = 0;
};
/// Lines are the file's, not the frontmatter's.
std::expected<Fields, Flaw> read_fields(const std::string& frontmatter);

}  // namespace cru::definitions

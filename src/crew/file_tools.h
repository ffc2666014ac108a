#pragma once
/// File tools: read_file, list_files, write_file and edit_file, inside the project. Input that passed the
/// gate is trusted to have its fields; permissions are the gate's. Blocks: call it on a pool thread.
#include <optional>

#include "base/json.h"
#include "base/result.h"
#include "platform/files/beneath.h"

namespace cru::crew {

struct FileToolOptions {
  std::string root;
  size_t result_limit = 51'200;
  std::string own_chat = {};  ///< whose folder it may read
  std::string approved = {};  ///< the digest of what a person approved: nothing else is written
};

/// The result as text for the model. Errors name the field and the reason.
Result<std::string> use_file_tool(std::string_view name, const json::object& input,
                                  const FileToolOptions& options);

/// What write_file or edit_file would make of which file.
struct FileChange {
  std::string path;                   ///< the real one
  std::optional<std::string> before;  ///< none: there is no such file
  std::string after;
  std::optional<FileState> state;  ///< of the file as it was read
  std::string done;                ///< what is said of it once it is made
};
/// Errors: those of the tool.
Result<FileChange> plan_change(std::string_view name, const json::object& input,
                               const FileToolOptions& options);

/// Whether `path` (relative, below the folder that is searched) is covered: a pattern without `/` is held
/// against the name alone; `*` stays within a folder unless the pattern has `**`.
bool matches_pattern(const std::string& pattern, const std::string& path);

}  // namespace cru::crew

#pragma once
/// File tools: read_file, list_files, write_file and edit_file, inside the project. Input that passed the
/// gate is trusted to have its fields; permissions are the gate's. Blocks: call it on a pool thread.
#include "base/json.h"
#include "base/result.h"

namespace cru::crew {

struct FileToolOptions {
  std::string root;
  size_t result_limit = 51'200;
  std::string own_chat = {};  ///< whose folder it may read
};

/// The result as text for the model. Errors name the field and the reason.
Result<std::string> use_file_tool(std::string_view name, const json::object& input,
                                  const FileToolOptions& options);

/// Whether `path` (relative, below the folder that is searched) is covered: a pattern without `/` is held
/// against the name alone; `*` stays within a folder unless the pattern has `**`.
bool matches_pattern(const std::string& pattern, const std::string& path);

}  // namespace cru::crew

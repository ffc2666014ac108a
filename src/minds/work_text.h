#pragma once
/// WorkText: what an agent program prints as JSON, as a person reads it: what it says, a line for each tool
/// that it uses, and how it ended. Rules only.
#include "minds/program_lines.h"

namespace cru::minds {

class WorkText {
 public:
  explicit WorkText(ProviderKind kind);
  /// One line of standard output, without its end: what it tells, which may be several lines; nothing if it
  /// tells a person nothing. A line that is not JSON is told as it is.
  std::optional<std::string> read(std::string_view line);

 private:
  /// How it ended, once; a failure that it may recover from as well.
  std::string tell_end();

  std::unique_ptr<ProgramReader> reader_;
  std::string failure_;  ///< as told
  bool has_told_end_ = false;
};

/// "→ Bash: make test": the tool and the part of its input that says most.
std::string tool_in_words(std::string_view tool, const json::object& input);

/// Whether a run with this backend prints such lines.
std::optional<ProviderKind> prints_work(std::string_view backend);

}  // namespace cru::minds

#pragma once
/// Rules that tell whether Codex will run our hooks: it runs one only after a person has trusted it, and says
/// nothing of the others. Pure.
#include <span>
#include <string>

#include "edges/hooks/entries.h"

namespace cru::hooks {

struct CodexTrust {
  size_t hooks = 0;      ///< of ours
  size_t untrusted = 0;  ///< nobody has trusted them yet
  size_t changed = 0;    ///< they are not what was trusted
  size_t off = 0;        ///< turned off in Codex, one by one
  bool all_off = false;  ///< `features.hooks = false`

  bool will_run() const { return untrusted + changed + off == 0 && !all_off; }
};

/// What Codex has recorded in its `[hooks.state]`. `paths` are the names that Codex may have for the file.
/// Errors: as in_codex.
Result<CodexTrust> trust_in_codex(const FileText& text, std::span<const std::string> paths);

/// What is wrong, in a sentence; empty if they will run.
std::string what_is_wrong(const CodexTrust& trust);
/// What a person does so that Codex runs them.
std::string_view how_to_trust();

}  // namespace cru::hooks

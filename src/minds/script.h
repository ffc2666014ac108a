#pragma once
/// Scripts: replies written down beforehand, for demonstrations, tests and work without a model
/// (docs/formats/scripts.md). Rules only. What was said before is all the state there is, so a script goes on
/// after a restart exactly where it was.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "minds/message.h"

namespace cru::minds {

/// When a reply fits. Everything that is given must hold.
struct ScriptCondition {
  std::string contains;         ///< in the user's last words, whatever the case
  std::string pattern;          ///< `*` and `?` over the whole of them, whatever the case
  std::optional<int64_t> turn;  ///< the first reply is 1
  std::string agent;
  std::string after_tool;  ///< the last message answers a use of this tool
};

struct ScriptFailure {
  std::string type = "script_failed";
  std::string message;
  std::optional<int64_t> after_bytes;  ///< said before it fails; absent: nothing
  std::optional<Time> resets_at = {};  ///< a usage limit that ends then: the reply fails only before
};

struct ScriptEntry {
  ScriptCondition when;
  std::vector<std::string> say;  ///< one of them, as the seed has it
  std::vector<ToolUse> tools;    ///< without ids; texts in the inputs have placeholders too
  Duration delay{0};             ///< before the first byte
  Duration pace{0};              ///< between the pieces
  int64_t chunk = 0;             ///< bytes a piece; 0: as `default_chunk`
  std::optional<ScriptFailure> fail;
  std::optional<int64_t> input_tokens, output_tokens;
  bool repeat = false;
};

struct Script {
  int64_t seed = 1;
  std::vector<ScriptEntry> replies;
  std::optional<ScriptEntry> otherwise;
  bool is_builtin = false;
};

inline constexpr int64_t default_chunk = 24;

/// Outcomes: the script; invalid_argument "LINE: field: reason".
Result<Script> parse_script(std::string_view yaml);

/// The script that comes with the program: see builtin_script.h.
Script builtin_script();

struct ScriptedReply {
  std::string say;
  std::vector<ToolUse> tools;
  Duration delay{0}, pace{0};
  int64_t chunk = default_chunk;
  std::optional<ScriptFailure> failure;
  Usage usage;
};

/// The first reply that fits and was not used by an earlier turn of this conversation, else `otherwise`.
/// Errors: mind_failure("script_failed") if there is none.
Result<ScriptedReply> next_reply(const Script& script, const Request& request, int64_t seed);

/// `*` for any run of characters, `?` for one; ASCII letters whatever their case.
bool matches_glob(std::string_view pattern, std::string_view text);

/// About what a model would count.
int64_t estimate_tokens(size_t bytes);

}  // namespace cru::minds

#pragma once
/// Trust: what a project brings that could run commands, spend money or widen rights, and what of it a person
/// has trusted. Rules only. A file is trusted as it stands: one byte changed, and it waits again.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace cru::trust {

/// No file that is trusted may be larger.
inline constexpr size_t max_item_bytes = 1 << 20;

/// A file of the project that counts only if it is trusted.
struct Item {
  std::string path;                  ///< relative to the project
  std::vector<std::string> reasons;  ///< what it would do: "defines the model lead"
  std::string text = {};
  std::string problem = {};  ///< why it cannot be checked, and so not be trusted; empty: it can
};

struct Entry {
  std::string sha256;
  Time trusted_at = {};
  bool once = false;  ///< until the daemon ends; never written down
  bool operator==(const Entry&) const = default;
};

/// What is trusted in one project, by path.
using Record = std::map<std::string, Entry>;

/// Errors: invalid_argument for what is no record of this project.
Result<Record> parse_record(std::string_view text, std::string_view project);
/// Without what is trusted once.
std::string record_text(const Record& record, std::string_view project);

enum class State { trusted, added, changed, refused };
std::string_view name(State state);  ///< "trusted", "new", "changed", "refused"
State state_of(const Item& item, const Record& record);

/// What is new since it was trusted last, as a unified diff; of one that never was, the whole text.
std::string difference(const Item& item, std::string_view trusted_text);

/// Whether a person trusts this content of this file. Holds what never changes: for any thread.
using Check = std::function<bool(const std::string& path, std::string_view sha256)>;
/// Gives the check as of now; called on the engine's thread.
using Checks = std::function<Check()>;
/// An empty one trusts nothing.
Check check_now(const Checks& checks);
Check check_of(Record record);

/// The answer of a verb that would have used a file that waits: "WHAT waits: PATH is not trusted (REASONS)".
Error untrusted(std::string_view what, const std::string& path, const std::vector<std::string>& reasons = {});

}  // namespace cru::trust

#pragma once
/// Proposal: what an agent wants to do, looked at as it is now, and the digest that an approval is bound to.
/// Rules only: whoever carries the action out looks at the files and fills this in.
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace cru::approvals {

/// Whether it can be undone. What nobody knows counts as what cannot.
enum class Undo { reversible, irreversible, unknown };
std::string_view name(Undo undo);
Undo undo_from(std::string_view name);

/// What a person is shown, made of the same bytes that the digest covers.
struct Preview {
  std::string kind = "text";  ///< "diff", "command", "statement" or "text"
  std::string text = {};
  bool is_cut = false;  ///< there is more than is shown
};

struct FileHash {
  std::string path;    ///< the real one
  std::string sha256;  ///< empty: there is no such file
  bool operator==(const FileHash&) const = default;
};

struct Proposal {
  std::string tool = {};
  json::object input = {};
  std::string folder = {};       ///< where it works
  std::string executable = {};   ///< of a command: the program that would run
  std::string search_path = {};  ///< of a shell's: the PATH by which it looks for programs; empty: unknown
  std::vector<FileHash> files = {};  ///< that will change, and those that a command is given or is
  Preview preview = {};
  std::string what = {};    ///< one line: "write src/a.cc"
  std::string impact = {};  ///< one sentence
  Undo undo = Undo::unknown;
  std::string undo_why = {};
};

/// The same text for the same value, whatever the order of its members.
std::string canonical(const json::value& value);
/// The input without what changes from call to call and nothing depends on: a command's description and its
/// timeout.
json::object without_advisory(std::string_view tool, json::object input);
/// SHA-256 over the tool, its input, the folder, the program and the files.
std::string digest_of(const Proposal& proposal);
/// What differs, in words: "src/a.cc has changed". For a proposal whose digest is another one.
std::string difference(const Proposal& shown, const Proposal& now);

/// Cut to what may be shown; sets `is_cut`.
Preview shown(std::string kind, std::string text);

json::object to_record(const Proposal& proposal);
Proposal proposal_from(const json::object& record);

}  // namespace cru::approvals

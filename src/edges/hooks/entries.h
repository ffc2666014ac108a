#pragma once
/// Rules of what cru writes into its hosts' files, and how it knows its own again. Pure: the text of a file
/// before, the text after; absent text is an absent file.
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cru::hooks {

/// Behind every command of ours. Whatever does not carry it is somebody else's.
inline constexpr std::string_view mark = "--installed-by=cru";

/// "2.1.197".
struct ProgramVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const ProgramVersion&) const = default;
};
/// The first such number in what a program says about itself; zero if there is none.
ProgramVersion version_in(std::string_view text);

struct Installation {
  std::string program = "cru";  ///< how a host starts us
  ProgramVersion claude = {};   ///< the Claude Code that will read the settings; zero: not known
  bool for_user = false;        ///< in the user's own settings: quiet outside projects that use cru
  bool makes_folder = false;    ///< the file's folder is made with it, where only we can tell later
};

/// `text` as one word of a shell's command.
std::string shell_word(std::string_view text);

using FileText = std::optional<std::string>;
enum class Installed { no, partly, yes, by_hand, disabled };
std::string_view name(Installed installed);

// Each of these: the text with ours added and an old one of ours replaced; the text without ours; what is
// there. Errors: invalid_argument with the line and column, where a file is not JSON or TOML, or not laid
// out as its host says.

/// Claude Code's settings.json.
Result<FileText> add_to_settings(const FileText& before, const Installation& installation);
Result<FileText> take_from_settings(const FileText& before);
Result<Installed> in_settings(const FileText& text);

/// `.mcp.json`. Ours is marked by CRU_INSTALLED_BY in its `env`. An entry "cru" without the mark is left as
/// it is if it starts cru (by_hand), and is a conflict if it starts something else.
Result<FileText> add_to_servers(const FileText& before, const Installation& installation);
Result<FileText> take_from_servers(const FileText& before);
Result<Installed> in_servers(const FileText& text);

/// Codex' config.toml, in which Codex itself writes: ours is known by what it says, not by a mark, and is
/// brought up to date where it stands. A server "cru" that a person has written is left as it is (by_hand),
/// and what a person has added to ours stays; taken away, it stays as comments, for Codex reads no server
/// without a command. Errors: conflict if the server "cru" starts something else, if `hooks` or `mcp_servers`
/// is written in braces, or if the result, read again, is not the file with or without ours.
Result<FileText> add_to_codex(const FileText& before, const Installation& installation);
Result<FileText> take_from_codex(const FileText& before);
Result<Installed> in_codex(const FileText& text);
/// What a person should know of the server; empty: nothing.
std::string remark_on_codex(const FileText& text);
/// The file's folder was made with it.
bool has_own_folder(const FileText& text);

}  // namespace cru::hooks

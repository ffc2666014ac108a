#pragma once
/// Chat files: how a chat and its subagents look as linked markdown, for people and for git. Rules only: rows
/// in, text out. What a person wrote into session.md stays: entries are appended, only the frontmatter is
/// written anew, and `entries` there says how far the file has come.
#include <map>

#include "approvals/approval.h"
#include "crew/chat.h"

namespace cru::crew {

/// ".crucible/sessions/ID".
std::string chat_folder(const std::string& chat_id);

/// session.md as it should be, given what it is now (empty: there is none).
std::string render_session(const Chat& chat, const std::vector<Entry>& entries,
                           const std::vector<Subagent>& subagents, std::string_view now);
/// How many entries a session.md holds; 0 if it does not say.
int64_t entries_in(std::string_view session);

/// The whole file of a subagent: frontmatter, task, summary, findings, what it did.
std::string render_subagent(const Subagent& subagent, const std::vector<Entry>& entries);
/// How it ended, on one line that begins with its link.
std::string end_line(const Subagent& subagent);
/// What its parent gets: the same without what it did, bounded.
std::string render_result(const Subagent& subagent, size_t most);

/// metadata.json. `left_out`: so many older approvals than those that were `asked` for are kept.
json::object render_metadata(const Chat& chat, const std::vector<Subagent>& subagents, int64_t queue_depth,
                             const std::vector<approvals::Approval>& asked = {}, int64_t left_out = 0);

/// JSON over several lines, for people and for git.
std::string to_lines(const json::value& value);

/// A text as a YAML scalar, quoted.
std::string yaml_text(std::string_view text);

}  // namespace cru::crew

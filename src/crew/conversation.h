#pragma once
/// Conversation: what comes next in a thread, and what its end amounts to. Rules only. What comes next is
/// told by the entries alone, so a daemon that died in between goes on where the last one stopped.
#include <set>

#include "crew/chat.h"

namespace cru::crew {

enum class Next {
  nothing,    ///< the agent has had its say
  think,      ///< the agent's turn
  use_tools,  ///< the last entry asks for tools
};
Next what_next(const std::vector<Entry>& entries);

/// The thread as a mind takes it: notes left out, neighbours of one role joined, a use that was never
/// answered (a turn that was stopped) answered so.
std::vector<minds::Message> to_messages(const std::vector<Entry>& entries);

/// The name of the run that thinks what comes next, if its agent's mind is a program: `first` for the first
/// reply of a turn, then one for each time that the turn went on with reports.
std::string run_of_reply(const std::string& first, const std::vector<Entry>& entries);

/// A tool that a program used by itself, as the thread keeps it: a note. `use` names it in its thread.
Entry note_of_use(std::string thread, std::string use, const std::string& tool, const json::object& input);
/// The uses that are noted already: a program whose daemon died tells of them again.
std::set<std::string> noted_uses(const std::vector<Entry>& entries);

/// The children of `thread` whose reports its agent has not been given, though the turn that began at `since`
/// is over: it called for them, and gave up waiting.
std::vector<Subagent> unreported(std::vector<Subagent> children, const std::string& thread, Time since);
/// When the turn began: the last thing that the person said.
Time turn_began(const std::vector<Entry>& entries);

/// The parts of a report.
struct Report {
  std::string summary;   ///< the section `Summary`; else the first paragraph
  std::string findings;  ///< the section `Findings`; else all but the summary
};
Report read_report(std::string_view text);
/// The first 100 characters of the summary, on one line: what people see when a subagent ends.
std::string summary_line(std::string_view text);
/// Whether there is more of the summary than that line.
bool is_abbreviated(std::string_view text);

}  // namespace cru::crew

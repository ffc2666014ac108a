#pragma once
/// Conversation: what comes next in a thread, and what its end amounts to. Rules only. What comes next is
/// told by the entries alone, so a daemon that died in between goes on where the last one stopped.
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

/// The parts of a report.
struct Report {
  std::string summary;   ///< the section `Summary`; else the first paragraph
  std::string findings;  ///< the section `Findings`; else all but the summary
};
Report read_report(std::string_view text);
/// The first 100 characters of the summary, on one line: what people see when a subagent ends.
std::string summary_line(std::string_view text);

}  // namespace cru::crew

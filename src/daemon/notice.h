#pragma once
/// Notices: what the user is told elsewhere when an approval or a question waits. Rules only. A notice goes
/// to a server that may be anybody's: it names who asks, the task as a person gave it and the kind of action,
/// and nothing of the tool's input, of what it would come to, of a question's text, or of what agents wrote.
#include <optional>
#include <string>
#include <vector>

#include "platform/net/web_client.h"
#include "store/event_log.h"

namespace cru::daemon {

/// The section `notify` of the user's own file.
struct NotifySettings {
  std::string url = {};            ///< empty: nobody is told
  std::string format = "webhook";  ///< or "ntfy"
  std::string link = {};           ///< the page as the user's device reaches it; empty: as it is here
  bool operator==(const NotifySettings&) const = default;
};

struct Notice {
  bool is_approval = true;
  std::string id = {}, agent = {}, member = {}, chat_id = {}, task_id = {}, tool = {};
  std::string task = {};  ///< in a person's words, see given_task.h; an event does not tell it
  std::string undo = {};  ///< "reversible", "irreversible" or "unknown"
  int64_t more = 0;       ///< of a summary: how many wait that were not told one by one; `agent` says whose

  /// Whose it is, for the limit on how often the user is told.
  const std::string& asker() const { return member.empty() ? agent : member; }
};

/// The notice that an event is worth; none for what waits for nobody: another event, what a rule has decided,
/// and a permission that is told as an approval.
std::optional<Notice> notice_of(const Event& event);
/// One for several: how many wait, and of whom.
Notice summary_of(const std::vector<Notice>& notices);
/// What it is about, in a word or two.
std::string about(const Notice& notice);
/// In a sentence or two.
std::string text_of(const Notice& notice);
/// What opens it on the page at `page`.
std::string link_of(const Notice& notice, std::string page);
WebRequest to_request(const NotifySettings& settings, const Notice& notice, const std::string& page,
                      const std::string& project);
/// The address without what may be secret in it: "https://ntfy.sh/…".
std::string without_path(const std::string& url);

}  // namespace cru::daemon

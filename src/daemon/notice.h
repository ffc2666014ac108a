#pragma once
/// Notices: what the user is told elsewhere when an approval or a question waits. Rules only. A notice goes
/// to a server that may be anybody's: it names who asks, the task, the tool and its impact, and nothing of
/// the tool's input or of a question's text.
#include <optional>
#include <string>

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
  std::string id = {}, agent = {}, member = {}, task_id = {}, task = {}, tool = {}, impact = {};
  bool can_be_undone = false;
};

/// The notice that an event is worth; none for what waits for nobody: another event, what a rule has decided,
/// and a permission that is told as an approval.
std::optional<Notice> notice_of(const Event& event);
/// In a sentence or two.
std::string text_of(const Notice& notice);
/// What opens it on the page at `page`.
std::string link_of(const Notice& notice, std::string page);
WebRequest to_request(const NotifySettings& settings, const Notice& notice, const std::string& page,
                      const std::string& project);
/// The address without what may be secret in it: "https://ntfy.sh/…".
std::string without_path(const std::string& url);

}  // namespace cru::daemon

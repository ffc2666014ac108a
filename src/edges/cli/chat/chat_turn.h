#pragma once
/// TurnPrinter: what happens in a chat, shown as it happens: the agent's words on standard output, the
/// progress of its subagents beside them. And the following of a chat's events, through restarts of the
/// daemon.
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "edges/cli/core/context.h"
#include "edges/cli/terminal/inbox_prompt.h"
#include "edges/cli/terminal/markdown.h"
#include "platform/process/signals.h"

namespace cru::cli {

class TurnPrinter {
 public:
  struct Options {
    bool streaming = false;  ///< words are shown as they come, as markdown; else an entry at a time, as it is
    bool silent = false;     ///< shows nothing, and only listens
    int progress_fd = 2;
    bool whole_follows = false;  ///< a subagent's whole report is shown afterwards
    /// The whole of an entry that was too long for its event.
    std::function<std::string(int64_t n)> whole = {};
    /// Shows approvals and questions instead, and asks for them; set later.
    const InboxPrompt* inbox = nullptr;
  };
  TurnPrinter(const Context& context, Options options);

  void take(std::string_view type, const json::object& data);
  void leave_inbox_to(const InboxPrompt* inbox) { options_.inbox = inbox; }
  /// Says that the agent thinks; gone with the next thing shown. Terminals only.
  void show_status(const std::string& text);
  /// Ends whatever line is open.
  void finish();
  bool is_over() const { return over_; }
  /// Why the turn failed; empty if it did not.
  const json::object& error() const { return error_; }
  /// The agent's part of the terminal starts here.
  void begin_turn(std::string agent);

 private:
  void words(std::string_view piece);
  void begin_again();
  void entry(const json::object& data);
  void subagent(std::string_view what, const json::object& data);
  void tool(const json::object& data, bool of_subagent);
  void approval(std::string_view what, const json::object& data);
  void parked(const json::object& data);
  void turn(const json::object& data);
  void show(std::string_view text);
  void progress(const std::string& text);
  void clear_status();
  void end_words();

  const Context& context_;
  Options options_;
  Markdown markdown_;
  std::string agent_;
  std::string shown_;                 ///< of the entry that is coming
  std::optional<std::string> again_;  ///< what came since the entry began anew
  std::set<std::string> queued_, running_, approvals_shown_;
  bool words_open_ = false, line_open_ = false, something_shown_ = false, status_shown_ = false,
       over_ = false;
  json::object error_;
};

/// Where a chat's events are read from: a number, or a time for the first reading.
struct EventCursor {
  std::string since = {};
  std::string last_id = {};
};
using OnChatEvent = std::function<bool(std::string_view type, const json::object& data)>;
/// Hands a chat's events over until `on_event` returns false, or `on_signal` does. An approval that waited
/// when the stream began comes as `approval.waits`. With an inbox, what waits is asked here: in its place
/// among the events. Outcomes: true if it was `on_event`; false if the person leaves; the client's errors.
Result<bool> follow_chat(Client& client, Signals& signals, const std::string& chat_id, EventCursor& cursor,
                         const OnChatEvent& on_event, const std::function<bool(int)>& on_signal,
                         InboxPrompt* inbox = nullptr);

/// "/chats/ID".
std::string chat_path(const std::string& id);

}  // namespace cru::cli

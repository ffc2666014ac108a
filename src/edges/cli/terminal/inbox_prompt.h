#pragma once
/// InboxPrompt: what waits for a person, at the terminal that watches its asker: an approval with its
/// preview, whether it can be undone and the time left; a question with its options. Takes the decision
/// there, in the words of `cru approvals`, whose commands carry it out. Where nobody can be asked it only
/// shows them.
#include <functional>
#include <set>
#include <string>

#include "edges/cli/core/context.h"
#include "edges/cli/core/deciding.h"
#include "edges/cli/terminal/inbox_watch.h"
#include "platform/process/signals.h"

namespace cru::cli {

class InboxPrompt {
 public:
  struct Options {
    bool asks_here = true;                 ///< where there is a terminal
    std::function<void()> before = {};     ///< called before something is shown: ends the line that is open
    std::function<bool(int)> signal = {};  ///< what a signal means meanwhile; false to leave
  };
  InboxPrompt(Context& context, Signals& signals, InboxOf of, Options options);

  /// Whether a person is at this terminal, and no agent, who can see what is asked and type.
  static bool has_person();
  /// Readable when there may be something new; `take` says whether there was.
  int fd() const { return watch_.fd(); }
  bool take() const { return watch_.take(); }

  /// Shows what waits and was not shown before, and asks for it, one after the other. False: the person
  /// leaves.
  bool show_approvals();
  bool show_questions();
  bool show_pending() { return show_approvals() && show_questions(); }

  /// Whether it was told here that this approval is now approved, denied, …
  bool has_told(const std::string& id, std::string_view status) const {
    return told_.contains(id + " " + std::string(status));
  }
  /// What was typed before something was asked, and so was not meant for it.
  std::string take_typed_ahead() { return std::exchange(typed_ahead_, {}); }
  /// The person has typed something else since: what comes now answers what is shown now.
  void begin_turn() { has_moved_ = false; }

 private:
  enum class Heard { line, news, end, stopped, left };
  Heard listen(std::string& line);
  bool decide(const std::string& id);
  void carry_out(const TypedDecision& typed);
  bool answer(const json::object& question);
  void announce_others(const std::string& than);
  Result<json::object> get(const std::string& target);
  json::array waiting(const std::string& kind);
  bool is_ours(const json::object& item, bool is_approval) const;
  void say(std::string_view text) const;

  Context& context_;
  Signals& signals_;
  InboxOf of_;
  Options options_;
  InboxWatch watch_;
  std::set<std::string> shown_, told_;
  std::string typed_ahead_, unread_;
  bool has_left_ = false, sees_approvals_ = false;
  bool is_stopped_ = false;  ///< the person stopped what is being asked while the daemon was asked
  bool has_moved_ = false;   ///< the last one that was shown ended before it was decided here
};

}  // namespace cru::cli

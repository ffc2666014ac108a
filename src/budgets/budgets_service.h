#pragma once
/// Budgets: lets calls begin while something is left for them, counts what they spend, and asks a person for
/// more where that is wanted. Nothing here knows what a model is.
#include <set>

#include "budgets/ledger.h"
#include "inbox/inbox_service.h"
#include "platform/loop/stop.h"

namespace cru::budgets {

/// A scope as it is told.
struct View {
  std::string scope = {};
  Budget budget = {};
  std::string source = {};  ///< "person", "flag", "definition", "configuration"; empty: no limit
  Spend spent = {}, reserved = {};
  bool is_closed = false;
  bool is_damaged = false;
};
json::object to_json(const View& view, const Policy& policy);

/// Money alone is limited in this scope, and what the model costs is not known.
Error unpriced(const std::string& model, const std::string& scope);

class Budgets {
 public:
  Budgets(Loop& loop, Store& store, inbox::Inbox& inbox, Policy policy)
      : loop_(loop), store_(store), inbox_(inbox), policy_(std::move(policy)), changed_(loop) {}

  const Policy& policy() const { return policy_; }
  /// What an earlier daemon left under way is over; what was spent on it is counted.
  Task<Result<>> recover();

  /// Whether anything is left for this payer. Errors: those of `exhausted`.
  Task<Result<>> check(Payer payer);
  /// Waits until the call may begin: while others have set aside what is left, and while a person is asked.
  /// `waits` is called when it does. Outcomes: how long it may take, if that is limited. Errors: those of
  /// `exhausted`; not_running after a stop; those of the store.
  Task<Result<std::optional<Duration>>> begin(Begin call, Stop& stop, std::function<void()> waits = {});
  /// A call that is under way already is counted from now on, whatever is left for it: whoever asks ends it
  /// if there is a shortage. Errors: those of the store.
  Task<Result<Begun>> take_up(Begin call);
  /// Whether this call was begun before, by an earlier daemon perhaps.
  Task<Result<bool>> has_begun(std::string id);
  /// What it has spent so far, altogether. `may_ask`: its member has asked a person since it began.
  Task<Result<Standing>> note(std::string id, Spend total, bool may_ask = false);
  /// The same at its end.
  Task<Result<Standing>> end(std::string id, Spend total, bool may_ask = false);
  /// Calls `check` whenever a budget has just been spent or changed, as long as what is returned lives: a
  /// call that spends nothing itself may draw from it too. Calls `asked` whenever this member has asked a
  /// person, or waits for the answer no longer.
  class Watch;
  std::unique_ptr<Watch> watch(std::function<void()> check, std::string member = {},
                               std::function<void()> asked = {});
  /// How a call under way stands.
  Task<Result<Standing>> standing_of(std::string id);
  /// It came to nothing.
  Task<void> abandon(std::string id);
  /// Something changed in another's transaction: an agent ended, or was given a budget.
  void notify();

  /// Errors: invalid_argument.
  Task<Result<View>> show(std::string scope);
  /// Every scope with a budget; with `all` then the others with what they spent, the newest first.
  Task<Result<std::vector<View>>> list(bool all, int64_t most);
  /// Sets the limits that `set` names, then raises by `add`; `clear`: takes back what was set before.
  struct Change {
    std::string scope = {}, set = {}, add = {};
    bool clear = false;
  };
  Task<Result<View>> change(Change change);

 private:
  Task<void> watch_question(std::string id, std::string scope, Resource resource, int64_t changes);
  void tell_spent(const Result<Standing>& found);
  /// Something is left of its runs, which may have begun anew: if that is spent, it is told again.
  void note_begun(const Payer& payer);
  void tell_watches();
  Task<void> follow_askers();
  void tell_asked(const std::string& member);
  Task<Result<>> take_answer(std::string scope, Resource resource, int64_t changes, std::string answer);

  Loop& loop_;
  Store& store_;
  inbox::Inbox& inbox_;
  const Policy policy_;
  Signal changed_;
  uint64_t version_ = 0;  ///< tells a change that came while rows were being read
  struct Watcher {
    std::function<void()> check;
    std::string member;
    std::function<void()> asked;
  };
  std::map<uint64_t, Watcher> watches_;
  uint64_t last_watch_ = 0;
  std::set<std::string> spent_;    ///< scopes of which that was told, until they are raised
  std::set<std::string> watched_;  ///< questions whose answers are waited for here
  friend class Watch;
  std::map<std::string, int> waiting_;  ///< how many calls wait for each
};

class Budgets::Watch {
 public:
  Watch(Budgets& budgets, uint64_t id) : budgets_(budgets), id_(id) {}
  Watch(const Watch&) = delete;
  ~Watch() { budgets_.watches_.erase(id_); }

 private:
  Budgets& budgets_;
  const uint64_t id_;
};

}  // namespace cru::budgets

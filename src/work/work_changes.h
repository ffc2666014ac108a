#pragma once
/// WorkChanges: what happens to work inside one transaction: the rule's verdict, the rows, the
/// events, and what follows for those that depend on it. Effects are for after the commit.
#include "work/work_table.h"

namespace cru::coordination {

/// What was claimed, as whoever asked for it has to be able to give it back.
struct Claimed {
  std::string task_id, task_type;
  int64_t token = 0;
};

/// What to do once it is committed.
struct WorkEffects {
  std::vector<std::string> ready;    ///< the type of each item that became ready
  std::vector<std::string> kills;    ///< verifying runs of items that are over
  std::optional<BootTime> due = {};  ///< the earliest moment at which the clock concerns what was changed
  std::vector<Claimed> claimed = {};
  void add(WorkEffects other);
};

class WorkChanges {
 public:
  WorkChanges(Tx& tx, const Moment& now) : tx_(tx), now_{tx.now(), now.boot_id, now.boot} {}

  const Moment& now() const { return now_; }
  WorkEffects& effects() { return effects_; }

  /// A new item with its edges; if it must fail at once, it does. Its event is `work.submitted`.
  void submit(Work work, std::vector<std::string> open_dependencies, std::vector<Work> blocked,
              std::string fails_because);
  /// The item as the rule made it, with this event; one that is closed is settled.
  void change(const Work& work, std::string_view event);
  /// A sign of life is missing: back to the queue, or failed.
  void requeue(Work work, std::string_view why);
  void finish(const Work& work, WorkStatus status, std::string error);
  /// What the clock has ended by now, at most `limit` items. True if there may be more.
  bool expire(int64_t limit);

 private:
  void settle(const Work& ended);
  void tell_dependents(const Work& end, std::vector<Work>& more);
  void tell(const Work& dependent, const Work& ended, std::vector<Work>& more);
  void note(const Work& work);
  Tx& tx_;
  const Moment now_;
  WorkEffects effects_;
  int64_t budget_ = 500;  ///< dependents told in this transaction; the rest follows in further ones
};

}  // namespace cru::coordination

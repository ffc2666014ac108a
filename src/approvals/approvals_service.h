#pragma once
/// Approvals: asks, waits, decides, and lets time pass. Whoever carries an action out looks at it once more
/// and records its use in the transaction of its own; see crew/approving.cc.
#include <functional>

#include "approvals/approval.h"
#include "approvals/policy.h"
#include "platform/loop/loop.h"
#include "store/store.h"

namespace cru::approvals {

class Approvals {
 public:
  Approvals(Loop& loop, Store& store, Policy policy)
      : loop_(loop), store_(store), policy_(std::move(policy)), changed_(loop) {}

  /// Lets time pass from now on, for those of an earlier daemon too.
  Task<Result<>> recover();

  Moment now() const { return {loop_.clock().wall(), loop_.clock().boot_id(), loop_.clock().boot()}; }
  const Policy& policy() const { return policy_; }

  // In the transaction of whoever asks; then call `notify`.

  /// Asks, with its event; where a rule decides, that is in the event too, and nobody is asked.
  static Approval request(Tx& tx, Request request, const Moment& now,
                          const std::optional<Ruling>& ruling = {});
  /// One step, with its event. Errors: those of the rule.
  static Result<Approval> take(Tx& tx, Approval approval, const Input& input, const Moment& now);
  /// Whatever a thread that has ended, and `why`, left undecided or unused.
  static void withdraw_of(Tx& tx, std::string_view thread, const std::string& why, const Moment& now);
  /// Something changed outside of this service's own calls.
  void notify() {
    ++version_;
    changed_.notify();
  }

  /// Errors: not_found.
  Task<Result<Approval>> find(std::string id);
  /// The newest for a use once there is one; none if there is none within `limit`.
  Task<Result<std::optional<Approval>>> wait_for_use(std::string thread, std::string use, Duration limit);
  Task<Result<std::vector<Approval>>> list(bool open_only, int64_t limit = 1000);
  /// The approval once it is no longer in the state that it was seen in, or as it is when `limit` has passed
  /// or `is_over` says that nobody waits any more (then `notify` must be called).
  Task<Result<Approval>> wait_while(std::string id, State state, size_t exchanges, Duration limit,
                                    std::function<bool()> is_over = {});

  /// What a changed input would do, by whoever would carry it out; checks it against the tool's schema.
  using Examine = std::function<Task<Result<Proposal>>(const Approval& approval, json::object input)>;
  void set_examine(Examine examine) { examine_ = std::move(examine); }

  /// What the person's rules say about a request, before anybody is asked.
  using Judge = std::function<Task<std::optional<Ruling>>(Request request)>;
  void set_judge(Judge judge) { judge_ = std::move(judge); }
  Task<std::optional<Ruling>> ruling_on(Request request);

  /// Drops those of no chat that were decided longer than `keep` ago, at most 500. True if there may be more.
  Task<Result<bool>> purge(Duration keep);

  // A person's decisions. Errors: not_found, and those of the rule; of `set` those of the tool's schema.

  /// `set`: fields of the input with their new values, as text where the schema has another type.
  Task<Result<Approval>> approve(std::string id, std::string confirm, json::object set);
  Task<Result<Approval>> decide(std::string id, Input input);

 private:
  Task<void> let_time_pass();
  Task<Result<>> pass_time(bool is_restart);

  Loop& loop_;
  Store& store_;
  const Policy policy_;
  Examine examine_;
  Judge judge_;
  Signal changed_;
  uint64_t version_ = 0;  ///< tells a change that came while rows were being read
};

/// The input with these fields set, each as the type that the schema gives it. Errors: invalid_argument,
/// field `set`, for one that the schema does not have or cannot take.
Result<json::object> apply_set(json::object input, const json::object& set, const json::object& schema);

}  // namespace cru::approvals

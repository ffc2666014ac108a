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

  /// Told of each that has become final, in the same transaction. Set while the daemon is wired: the store's
  /// thread calls it.
  using Closed = std::function<void(Tx& tx, const Approval& approval)>;
  void set_closed(Closed closed) { closed_ = std::move(closed); }
  const Closed& closed() const { return closed_; }

  // In the transaction of whoever asks; then call `notify`. `closed`: see there.

  /// Asks, with its event; where a rule decides, that is in the event too, and nobody is asked.
  static Approval request(Tx& tx, Request request, const Moment& now,
                          const std::optional<Ruling>& ruling = {}, const Closed& closed = {});
  /// The same, once for each use: what was asked for already is returned as it is, unless the request
  /// replaces it, for something has changed since. Then that one is withdrawn.
  static Approval ask_once(Tx& tx, Request request, const Moment& now, const std::optional<Ruling>& ruling,
                           const Closed& closed = {});
  /// After asking, in the same transaction: whether so many of its asker may wait, with so many bytes.
  /// Errors: overloaded, and then nothing was asked.
  static Result<> check_room(Reader& reader, const Approval& asked);
  /// One step, with its event. Errors: those of the rule.
  static Result<Approval> take(Tx& tx, Approval approval, const Input& input, const Moment& now,
                               const Closed& closed = {});
  /// Whatever a thread that has ended, and `why`, left undecided or unused.
  static void withdraw_of(Tx& tx, std::string_view thread, const std::string& why, const Moment& now,
                          const Closed& closed = {});
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

  /// Called in the transaction of a decision, with what came of it.
  using Kept = std::function<void(Tx& tx, const Approval& approval)>;
  /// `set`: fields of the input with their new values, as text where the schema has another type. `digest`:
  /// of what the person was shown; conflict if this is something else. Empty: it is not compared.
  Task<Result<Approval>> approve(std::string id, std::string confirm, json::object set,
                                 std::string digest = {}, Kept kept = {});
  /// The approval as it would be with these changes: what would be done, and its digest. Decides nothing.
  Task<Result<Approval>> preview(std::string id, json::object set);
  Task<Result<Approval>> decide(std::string id, Input input, Kept kept = {});

 private:
  Task<void> let_time_pass();
  Task<Result<>> pass_time(bool is_restart);

  Loop& loop_;
  Store& store_;
  const Policy policy_;
  Examine examine_;
  Judge judge_;
  Closed closed_;
  Signal changed_;
  uint64_t version_ = 0;  ///< tells a change that came while rows were being read
};

/// Why an approval does not hold for what would happen now.
std::string describe_change(const Approval& approval, const Proposal& now);

/// The input with these fields set, each as the type that the schema gives it. Errors: invalid_argument,
/// field `set`, for one that the schema does not have or cannot take.
Result<json::object> apply_set(json::object input, const json::object& set, const json::object& schema);

}  // namespace cru::approvals

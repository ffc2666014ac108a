#pragma once
/// RuleBook: keeps a person's rules and says what they decide. Those of a project are in the user's own file,
/// which is read whenever it is asked, so a rule that a person removes there is gone; those of a session are
/// in the store and end with it.
#include <atomic>
#include <memory>

#include "approvals/approvals_service.h"
#include "approvals/rules.h"
#include "platform/loop/pool.h"
#include "store/store.h"

namespace cru::approvals {

class RuleBook {
 public:
  struct Options {
    std::string project;  ///< its real path
    std::string file;     ///< see rule_file; empty: there are no rules of the project
  };
  RuleBook(Loop& loop, Store& store, Pool& pool, Random& random, Options options)
      : loop_(loop), store_(store), pool_(pool), random_(random), options_(std::move(options)), kept_(loop) {}

  /// What they say of a request; none where they say nothing. What cannot be read may deny anything: a person
  /// is asked, whatever a timeout would do, and is told.
  Task<std::optional<Ruling>> ruling_on(Request request);
  /// Oldest first, the project's before the sessions'.
  Task<Result<std::vector<Rule>>> list();
  /// The rule as it would be made. Errors: those of propose_rule.
  Result<Rule> propose(const Approval& approval, const RuleRequest& wanted) const;
  /// Makes it, with its event. Errors: those of propose_rule and of the file; conflict if there are too many.
  Task<Result<Rule>> make(Approval approval, RuleRequest wanted);
  struct Decided {
    Rule rule;
    Approval approval;
  };
  /// Decides on an approval and makes the rule of it. What cannot be decided leaves no rule, a daemon that is
  /// killed leaves at most the decision, and whatever is asked next meets both; then call
  /// Approvals::notify. `closed` and `kept` are called in the transaction of the decision: see Approvals.
  /// Errors: those of make and of the decision.
  Task<Result<Decided>> decide(Approval approval, RuleRequest wanted, Input decision,
                               Approvals::Closed closed = {}, Approvals::Kept kept = {});
  /// The newest that was made from this approval as it is wanted; none if there is none.
  Task<Result<std::optional<Rule>>> find_made(std::string approval_id, RuleRequest wanted);
  /// Errors: not_found; those of the file.
  Task<Result<Rule>> find_rule(std::string id);
  Task<Result<Rule>> revoke(std::string id);
  /// Its rules end with a session.
  Task<void> end_session(std::string session);

 private:
  using Decision = std::function<Result<Approval>(Tx&)>;
  Task<Result<Rule>> keep(Result<Rule> rule, Decision decide);
  /// One change of the file at a time, each of what the one before has left. `decide` comes before the file
  /// is written.
  Task<Result<>> change_file(std::function<Result<>(std::vector<Rule>&)> change, Decision decide = {});
  Task<Result<>> tell(std::string event, Rule rule);

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  Random& random_;
  const Options options_;
  Signal kept_;
  bool is_keeping_ = false;
  /// How often the rules were changed; raised before a change is acknowledged. Read by the store's thread.
  std::shared_ptr<std::atomic<uint64_t>> changes_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace cru::approvals

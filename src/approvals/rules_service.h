#pragma once
/// RuleBook: keeps a person's rules and says what they decide. Those of a project are in the user's own file,
/// which is read whenever it is asked, so a rule that a person removes there is gone; those of a session are
/// in the store and end with it.
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

  /// What they say of a request; none where they say nothing. What cannot be read counts for nothing, so a
  /// person is asked, and is told.
  Task<std::optional<Ruling>> ruling_on(Request request);
  /// Oldest first, the project's before the sessions'.
  Task<Result<std::vector<Rule>>> list();
  /// The rule as it would be made. Errors: those of propose_rule.
  Result<Rule> propose(const Approval& approval, const RuleRequest& wanted) const;
  /// Makes it, with its event. Errors: those of propose_rule and of the file; conflict if there are too many.
  Task<Result<Rule>> make(Approval approval, RuleRequest wanted);
  /// Errors: not_found; those of the file.
  Task<Result<Rule>> revoke(std::string id);
  /// Its rules end with a session.
  Task<void> end_session(std::string session);

 private:
  /// One change of the file at a time, each of what the one before has left.
  Task<Result<>> change_file(std::function<Result<>(std::vector<Rule>&)> change);
  Task<Result<>> tell(std::string event, Rule rule);

  Loop& loop_;
  Store& store_;
  Pool& pool_;
  Random& random_;
  const Options options_;
  Signal kept_;
  bool is_keeping_ = false;
};

}  // namespace cru::approvals

#pragma once
/// Journal: what the runtime has decided and the store does not have yet. One transaction at a time takes all
/// that has gathered, in order, so thousands of agents share a commit; whoever promises something waits for
/// it.
#include <functional>
#include <vector>

#include "store/store.h"

namespace cru::autonomy {

class Journal {
 public:
  using Write = std::function<void(Tx&)>;  ///< captures values; may be run again
  /// `with_each` is asked for one more write whenever a transaction begins.
  Journal(Loop& loop, Store& store, std::function<Write()> with_each);

  void add(Write write);
  /// When all that was added so far is durable.
  /// Errors: why the store takes nothing now (a full disk), after a moment: it is written later, if the
  /// daemon lives; or what it refused for good, after which nothing is written or promised any more.
  Task<Result<>> written();
  /// The same without waiting: whether something could be promised now.
  Result<> check() const;
  /// So much waits that those who make more should wait too.
  bool is_full() const { return pending_.size() >= max_pending; }
  Signal& progress() { return progress_; }

  static constexpr size_t max_pending = 16'384;

 private:
  Task<void> flush();
  Loop& loop_;
  Store& store_;
  const std::function<Write()> with_each_;
  std::vector<Write> pending_;
  uint64_t added_ = 0, written_ = 0;
  bool is_flushing_ = false;
  std::optional<Error> trouble_;  ///< of the last attempt
  std::optional<Error> broken_;   ///< for good
  Signal progress_;
};

}  // namespace cru::autonomy

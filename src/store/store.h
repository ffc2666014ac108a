#pragma once
/// Store: the one durable store. `write` runs a closure in a transaction on the
/// store's thread together with whatever else has gathered, syncs once, and only
/// then resumes the callers: durable before acknowledged. `read` runs on a
/// read-only connection beside it.
///
/// A closure captures values only, calls rules and tables only, may be run again and
/// is therefore const, and takes the time from `tx.now()`. A statement that fails ends the closure and
/// the caller gets the error; an error that the closure returns rolls back what it
/// wrote, and nothing else of its group.
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "platform/loop/loop.h"
#include "store/event_log.h"
#include "store/tx.h"

namespace cru {

/// One step of a room's schema, applied once, in order of its number within the room.
struct Migration {
  std::string_view room;
  int version;
  std::string_view sql;
};

class Store {
 public:
  virtual ~Store() = default;

  /// `f(Tx&) -> Result<T>`; awaits the commit.
  template <class F>
  auto write(F f) -> Task<std::invoke_result_t<F, Tx&>> {
    using R = std::invoke_result_t<F, Tx&>;
    Completion<R> done;
    submit_write(make_job<R, Tx>(std::move(f), done.handle()));
    co_return co_await done;
  }

  /// `f(Reader&) -> Result<T>`; sees every commit that was acknowledged before the call.
  template <class F>
  auto read(F f) -> Task<std::invoke_result_t<F, Reader&>> {
    using R = std::invoke_result_t<F, Reader&>;
    Completion<R> done;
    submit_read(make_job<R, Reader>(std::move(f), done.handle()));
    co_return co_await done;
  }

  EventLog& events() { return *events_; }
  /// Knows of each commit before anybody is told of it: whoever keeps something that was read asks here
  /// whether it still holds.
  const TableChanges& changes() const { return changes_; }

  /// A closure on its way: `run` on a store thread, then `finish` on the loop, where
  /// `error` replaces the closure's own answer (the commit failed).
  template <class Access>
  struct Job {
    virtual ~Job() = default;
    /// True if what it wrote is to be kept.
    virtual bool run(Access& access) = 0;
    virtual void finish(const Error* error) = 0;
  };

 protected:
  virtual void submit_write(std::unique_ptr<Job<Tx>> job) = 0;
  virtual void submit_read(std::unique_ptr<Job<Reader>> job) = 0;
  std::unique_ptr<EventLog> events_;
  TableChanges changes_;

 private:
  template <class R, class Access, class F>
  static std::unique_ptr<Job<Access>> make_job(F f, typename Completion<R>::Handle done) {
    struct ClosureJob final : Job<Access> {
      const F closure;
      typename Completion<R>::Handle done;
      std::optional<R> answer;
      ClosureJob(F f, typename Completion<R>::Handle d) : closure(std::move(f)), done(std::move(d)) {}
      bool run(Access& access) override {
        answer.emplace(closure(access));
        return answer->has_value();
      }
      void finish(const Error* error) override {
        if (error) answer.emplace(std::unexpect, *error);
        done.complete(std::move(*answer));
      }
    };
    return std::make_unique<ClosureJob>(std::move(f), std::move(done));
  }
};

}  // namespace cru

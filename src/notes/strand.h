#pragma once
/// Strand: jobs for the pool that are done one after the other, so that what they share needs no lock.
/// Whoever waits for a job may go away: the job is done all the same. A job answers with a Result: what it
/// throws would end the program, and becomes an error.
#include <deque>
#include <functional>
#include <memory>

#include "platform/loop/pool.h"
#include "store/tx.h"

namespace cru::notes {

/// What `work` answers, or `internal` if it throws.
template <class F>
auto without_throwing(F& work) -> std::invoke_result_t<F&> {
  try {
    return work();
  } catch (const StoreFailure& failure) {
    return fail(failure.error);
  } catch (const std::exception& failure) {
    return fail(Code::internal, std::string("cannot use the notes index: ") + failure.what());
  }
}

class Strand {
 public:
  Strand(Loop& loop, Pool& pool) : line_(std::make_shared<Line>(loop, pool)) {}

  bool is_crowded() const { return line_->jobs.size() >= 64; }

  template <class F>
  auto run(F work) -> Task<std::invoke_result_t<F>> {
    using R = std::invoke_result_t<F>;
    Completion<R> done;
    line_->jobs.push_back([line = line_, work = std::move(work), handle = done.handle()]() mutable {
      auto answer = std::make_shared<R>(without_throwing(work));
      line->loop.post([line, answer, handle]() mutable {
        line->busy = false;
        line->go_on();
        handle.complete(std::move(*answer));
      });
    });
    line_->go_on();
    co_return co_await done;
  }

 private:
  struct Line : std::enable_shared_from_this<Line> {
    Line(Loop& l, Pool& p) : loop(l), pool(p) {}
    void go_on() {
      if (busy || jobs.empty()) return;
      busy = true;
      auto job = std::move(jobs.front());
      jobs.pop_front();
      pool.post(std::move(job));
    }
    Loop& loop;
    Pool& pool;
    std::deque<std::function<void()>> jobs;
    bool busy = false;
  };
  std::shared_ptr<Line> line_;
};

}  // namespace cru::notes

#pragma once
/// For tests: a work queue on a real store, with a verifier that says what the test wants.
#include "handoffs/handoff_table.h"
#include "locks/lock_table.h"
#include "members/member_table.h"
#include "store/columns.h"
#include "store/store_fixture.h"
#include "work/work_service.h"

namespace cru::coordination {

class FakeVerifier final : public Verifier {
 public:
  explicit FakeVerifier(Loop& loop) : changed_(loop) {}
  Task<Verdict> verify(Verification verification, bool resumed) override {
    jobs.push_back(verification);
    were_resumed.push_back(resumed);
    changed_.notify();
    while (!verdict) co_await changed_.wait();
    co_return *verdict;
  }
  Task<void> cancel(std::string run) override {
    cancelled.push_back(std::move(run));
    verdict = Verdict{.error = "was killed"};
    changed_.notify();
    co_return;
  }
  void decide(Verdict said) {
    verdict = std::move(said);
    changed_.notify();
  }
  std::vector<Verification> jobs;
  std::vector<bool> were_resumed;
  std::vector<std::string> cancelled;
  std::optional<Verdict> verdict;

 private:
  Signal changed_;
};

inline std::vector<Migration> work_test_migrations() {
  std::vector<Migration> all;
  for (auto room : {reply_migrations(), members::migrations(), session_migrations(), fencing_migrations(),
                    lock_migrations(), work_migrations(), handoff_migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

/// A claim whose reply, which is written as text, can be looked into.
inline Task<Result<Done>> claim_readably(WorkQueue& queue, Who caller, WorkQueue::Claim wanted) {
  auto done = co_await queue.claim(std::move(caller), std::move(wanted));
  if (done && done->reply.empty())
    if (auto reply = parse_json(done->kept)) done->reply = std::move(reply->as_object());
  co_return done;
}

class WorkFixture : public StoreFixture {
 public:
  WorkFixture() : StoreFixture(work_test_migrations()) { begin(); }
  ~WorkFixture() override { end(); }

  void begin() {
    thread->on_loop([&] {
      pool = std::make_unique<Pool>(thread->loop, 1);
      sessions = std::make_unique<Sessions>(thread->loop, *store, *pool, system_random(),
                                            SessionOptions{.root = folder.path(), .git_limit = patience});
      auto fake = std::make_unique<FakeVerifier>(thread->loop);
      verifier = fake.get();
      queue = std::make_unique<WorkQueue>(thread->loop, *store, *sessions, std::move(fake), system_random(),
                                          WorkOptions{.root = "/project", .max_waiters = 3});
      return true;
    });
  }
  void end() {
    if (thread) thread->stop();
    queue.reset();
    sessions.reset();
    pool.reset();
  }
  /// The daemon dies and another begins.
  void restart() {
    end();
    reopen();
    begin();
  }

  static Who who(const std::string& name, std::string request = {}) {
    Who caller{.agent_id = name, .session_id = session_id_from(name, name)};
    if (!request.empty()) caller.once = {name + ":" + request, "hash"};
    return caller;
  }
  Result<Done> submit(WorkQueue::Submission submission) {
    if (submission.task_type.empty()) submission.task_type = "build";
    if (submission.description.empty()) submission.description = "do it";
    return thread->await([&] { return queue->submit(who("boss"), submission); });
  }
  /// An item of this id.
  void add(std::string id, std::vector<std::string> depends_on = {}, int64_t priority = 5) {
    auto done = submit({.task_id = id,
                        .task_type = "build",
                        .description = "do it",
                        .priority = priority,
                        .depends_on = std::move(depends_on),
                        .backoff = 0s});
    ASSERT_TRUE(done) << done.error().message;
  }
  Result<Done> claim(const Who& caller, std::vector<std::string> types = {}, Duration lease = 30min,
                     Duration wait = 0s) {
    return thread->await([&] { return claim_readably(*queue, caller, {types, lease, wait}); });
  }
  /// The id of what `name` got; empty for nothing.
  std::string claim_id(const std::string& name, std::vector<std::string> types = {}) {
    auto done = claim(who(name), std::move(types));
    return done ? std::string(text_or(done->reply, "task_id")) : "error: " + done.error().message;
  }
  Result<Done> complete(const Who& caller, WorkQueue::Completion completion) {
    return thread->await([&] { return queue->complete(caller, completion); });
  }
  Result<Done> cancel(std::string id) {
    return thread->await([&] { return queue->cancel(who("boss"), id, "no need"); });
  }
  Work row(const std::string& id) {
    return *read([id](Reader& reader) -> Result<Work> { return *find_work(reader, id); });
  }
  std::string status(const std::string& id) { return std::string(name(row(id).status)); }
  std::string why(const std::string& id) {
    auto done = thread->await([&] { return queue->why(who("boss"), id); });
    return done ? std::string(text_or(done->reply, "why")) : done.error().message;
  }
  std::vector<std::string> events() {
    return *read([](Reader& reader) -> Result<std::vector<std::string>> {
      return read_values<std::string>(
          reader, "SELECT type || ' ' || entity FROM events WHERE type LIKE 'work.%' ORDER BY seq");
    });
  }
  /// Waits until `done` says so on the loop.
  template <class F>
  bool becomes(F done) {
    return eventually([&] { return thread->on_loop(done); });
  }
  /// A claim that is tried, and waits if there is nothing, when this returns.
  std::future<Result<Done>> begin_claim(const Who& caller, std::vector<std::string> types, Duration lease,
                                        Duration wait) {
    auto claimed = thread->start(
        [this, caller, types, lease, wait] { return claim_readably(*queue, caller, {types, lease, wait}); });
    settle();
    return claimed;
  }

  std::unique_ptr<Pool> pool;
  std::unique_ptr<Sessions> sessions;
  FakeVerifier* verifier = nullptr;
  std::unique_ptr<WorkQueue> queue;
};

}  // namespace cru::coordination

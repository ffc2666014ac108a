#pragma once
/// For tests of other rooms: runs without processes. The keeper starts nothing and believes everything.
#include "budgets/budget_table.h"
#include "inbox/question_table.h"
#include "members/member_table.h"
#include "runs/runs_service.h"

namespace cru::runs {

/// Starts whatever it is asked to, but "missing"; a kill ends it.
class FakeKeeper final : public Keeper {
 public:
  explicit FakeKeeper(Loop& loop) : loop_(loop) {}
  void set_notices(KeeperNotices notices) override { notices_ = std::move(notices); }
  Task<Result<std::optional<std::vector<KeptRun>>>> join() override {
    co_return std::optional<std::vector<KeptRun>>();
  }
  Task<Result<ProcessIdentity>> start(StartSpec spec) override {
    if (spec.argv.front() == "missing")
      co_return fail(Code::cannot_execute, "missing: no such program", "argv");
    specs.push_back(spec);
    if (launch) co_return launch(spec);
    co_return ProcessIdentity{static_cast<int64_t>(100 + specs.size()), 1, "boot"};
  }
  Task<Result<>> kill(std::string uid, Duration) override {
    loop_.post([this, uid] { notices_.exited(uid, {{}, 15, "signaled", 0}); });
    co_return Result<>();
  }
  Task<Result<>> write(std::string, std::string, std::string, bool) override { co_return Result<>(); }
  Task<Result<bool>> has_taken(std::string, std::string) override { co_return false; }
  Task<Result<>> resize(std::string, int64_t, int64_t) override { co_return Result<>(); }
  Task<Result<>> forget(std::string) override { co_return Result<>(); }
  Task<void> remember(std::string, std::string) override { co_return; }
  Task<std::map<std::string, std::string>> recall() override {
    co_return std::map<std::string, std::string>();
  }
  Task<std::vector<KeptRun>> read_exit_records() override { co_return std::vector<KeptRun>(); }
  Task<std::set<std::string>> sweep(std::vector<std::string>) override { co_return std::set<std::string>(); }
  int64_t pid() const override { return 0x3ffffffe; }  ///< of no process
  std::vector<StartSpec> specs;
  std::function<ProcessIdentity(const StartSpec&)> launch;  ///< for tests that need a process

 private:
  Loop& loop_;
  KeeperNotices notices_;
};

class NoWorktrees final : public Worktrees {
 public:
  Task<Result<>> check() override { co_return Result<>(); }
  Task<Result<std::string>> create(std::string task_id) override { co_return task_id; }
  Task<void> remove(std::string) override { co_return; }
  Task<std::string> branch_of(std::string) override { co_return std::string(); }
  Task<Result<>> check_program(std::string, std::string, std::string) override { co_return Result<>(); }
};

/// What runs need of the store, questions included.
inline std::vector<Migration> test_migrations() {
  std::vector<Migration> all;
  for (auto room : {members::migrations(), inbox::migrations(), budgets::migrations(), migrations()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

}  // namespace cru::runs

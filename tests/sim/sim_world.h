#pragma once
/// What outlives the daemon: the keeper, its processes, their output files and
/// exit records. Acts on the loop by timers only, so a daemon's crash, which drops
/// all tasks, leaves it untouched; a power loss does not.
#include <map>
#include <set>

#include "runs/keeper.h"
#include "runs/output.h"
#include "runs/worktree.h"
#include "sim_loop.h"

namespace cru::sim {

struct SimFile {
  std::vector<std::string> lines;  ///< records; seq is the index + 1
  size_t synced = 0;
};

struct SimProcess {
  runs::StartSpec spec;
  ProcessIdentity identity;
  bool alive = true;
  std::optional<runs::Exit> exit;
  int lines_left = 0;
  int64_t exit_code = 0;
  bool waits_for_answer = false;
  int questions_asked = 0;
  std::vector<std::string> answers;  ///< what came on its stdin
  std::set<std::string> deliveries;
  bool forgotten = false;
  bool lost_power = false;  ///< before its end was recorded: its last lines may be gone
};

class SimWorld {
 public:
  SimWorld(SimLoop& loop, SimClock& clock, SimRandom& random) : loop_(loop), clock_(clock), random_(random) {}

  /// Every process dies at once; output and exit records keep what was synced, and by chance a little more.
  void lose_power();
  /// The keeper is killed, and its children with it.
  void kill_keeper();
  bool all_ended() const;

  std::map<std::string, SimProcess> processes;  ///< by uid: all there ever were
  std::map<std::string, SimFile> files;
  bool keeper_alive = false;
  int64_t keeper_generation = 0;
  unsigned output_failures = 3;  ///< of a hundred reads, syncs and repairs of output, by chance
  unsigned questions = 8;        ///< of a hundred lines, by chance
  std::optional<int> lines;      ///< of each process; absent: by chance
  /// The line by which a process asks; absent: that of the line protocol.
  std::function<std::string(const SimProcess&)> ask;
  /// Told of every answer that a process gets.
  std::function<void(const SimProcess&, const std::string& delivery, const std::string& bytes)> heard;

  // The keeper's side of the protocol.
  Result<ProcessIdentity> start(const runs::StartSpec& spec);
  void kill(const std::string& uid, Duration grace);
  Result<> write(const std::string& uid, const std::string& delivery, const std::string& bytes);
  /// Whoever is joined hears of growth and ends.
  runs::KeeperNotices notices;
  std::map<std::string, std::string> memory;  ///< of the keeper

 private:
  void schedule(const std::string& uid);
  void act(const std::string& uid);
  void print(SimProcess& process, const std::string& text, bool marked);
  void end(SimProcess& process, runs::Exit exit);
  void tell(std::function<void(const runs::KeeperNotices&)> what);
  SimLoop& loop_;
  SimClock& clock_;
  SimRandom& random_;
  int64_t last_pid_ = 100;
  BootTime told_until_{0};
};

/// One daemon's connection to the world's keeper. Calls take time, and after a crash nobody hears the reply
/// although the keeper may have acted.
class SimKeeper final : public runs::Keeper {
 public:
  SimKeeper(SimWorld& world, SimLoop& loop, SimRandom& random)
      : world_(world), loop_(loop), random_(random) {}
  ~SimKeeper() override { world_.notices = {}; }
  void set_notices(runs::KeeperNotices notices) override { notices_ = std::move(notices); }
  Task<Result<std::optional<std::vector<runs::KeptRun>>>> join() override;
  Task<Result<ProcessIdentity>> start(runs::StartSpec spec) override;
  Task<Result<>> kill(std::string uid, Duration grace) override;
  Task<Result<>> write(std::string uid, std::string delivery, std::string bytes, bool eof) override;
  Task<Result<bool>> has_taken(std::string uid, std::string delivery) override;
  Task<Result<>> resize(std::string, int64_t, int64_t) override { co_return Result<>(); }
  Task<Result<>> forget(std::string uid) override;
  Task<void> remember(std::string key, std::string text) override;
  Task<std::map<std::string, std::string>> recall() override;
  Task<std::vector<runs::KeptRun>> read_exit_records() override;
  Task<std::set<std::string>> sweep(std::vector<std::string> uids) override;
  int64_t pid() const override { return world_.keeper_alive ? 1 : 0; }

 private:
  Task<void> travel();
  SimWorld& world_;
  SimLoop& loop_;
  SimRandom& random_;
  runs::KeeperNotices notices_;
};

class SimOutput final : public runs::Output {
 public:
  SimOutput(SimWorld& world, SimLoop& loop, SimRandom& random)
      : world_(world), loop_(loop), random_(random) {}
  Task<Result<LogPage>> read(std::string file, int64_t since, size_t max_lines, size_t max_bytes) override;
  Task<Result<>> sync(std::string file) override;
  Task<Result<int64_t>> repair(std::string file) override;
  Task<Result<>> remove(std::string file) override;
  Task<std::vector<std::string>> list() override;
  Task<Result<>> set_aside(std::string file) override { return remove(std::move(file)); }

 private:
  /// Nothing, or an error of the disk; never more than twice in a row.
  Result<> touch_disk();
  SimWorld& world_;
  SimLoop& loop_;
  SimRandom& random_;
  int failed_in_a_row_ = 0;
};

class NoWorktrees final : public runs::Worktrees {
 public:
  Task<Result<>> check() override { co_return Result<>(); }
  Task<Result<std::string>> create(std::string task_id) override { co_return "/project/" + task_id; }
  Task<void> remove(std::string) override { co_return; }
  Task<std::string> branch_of(std::string) override { co_return "main"; }
  Task<Result<>> check_program(std::string, std::string, std::string) override { co_return Result<>(); }
};

}  // namespace cru::sim
